package result

// Groups are the arms of a run that were up at the same time, because not all of them fitted.
type Groups struct {
	// Arms are the names in each group; the first is the baseline.
	Arms [][]string `json:"arms"`
	// LimitedBy is what all arms together exceeded: memory or files.
	LimitedBy string `json:"limited_by" enum:"memory,files"`
	// Memory is the estimate for all arms, in bytes, and FreeMemory what was free; 0: not known.
	Memory     uint64 `json:"memory_bytes"`
	FreeMemory uint64 `json:"free_memory_bytes"`
	// Files are the open files that rpclab would have needed, and MaxFiles its limit; 0: not known.
	Files    uint64 `json:"files"`
	MaxFiles uint64 `json:"max_files"`
}

// The values of Groups.LimitedBy.
const (
	LimitedByMemory = "memory"
	LimitedByFiles  = "files"
)

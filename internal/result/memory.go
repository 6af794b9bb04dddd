package result

// Memory is what was resident of all backends together over the time of a load, in bytes: at
// its start and every IntervalMS after.
type Memory struct {
	IntervalMS int64    `json:"interval_ms"`
	Servers    []uint64 `json:"servers_bytes"`
}

package cluster

// Accounting is what a deployment remembers of backends since ResetUsage.
type Accounting struct {
	Exited   map[string]Usage
	Calls    map[string]uint64 // begun by backends that exited
	Failures []string
}

// NewAccounting returns an empty accounting.
func NewAccounting() Accounting {
	return Accounting{Exited: map[string]Usage{}, Calls: map[string]uint64{}}
}

package result

// Difference is a property whose value differs between A and B.
type Difference struct {
	// Kind is machine, version (of rpclab and tools), run (how much of the experiment ran) or
	// setting (of an arm).
	Kind string `json:"kind" enum:"machine,version,run,setting"`
	What string `json:"what"`
	Arm  string `json:"arm,omitempty"`
	Cell Cell   `json:"cell,omitempty"`
	A    string `json:"a"` // empty: not known, or not set
	B    string `json:"b"`
}

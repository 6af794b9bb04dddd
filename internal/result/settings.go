package result

import "encoding/json"

// Settings are the fields of an arm's configuration that reports read; nil or zero if not set.
type Settings struct {
	Caller struct {
		Kind    string `json:"kind"`
		Style   string `json:"style"`
		Stream  any    `json:"stream"`  // calls are messages on streams that stay open
		Streams any    `json:"streams"` // number of streams
		Late    any    `json:"late"`
		Hedge   any    `json:"hedge"`
		Retry   any    `json:"retry"`
	} `json:"caller"`
	Server struct {
		CPUs     float64 `json:"cpus"`
		Replicas float64 `json:"replicas"`
		AgeGrace any     `json:"age_grace"`
	} `json:"server"`
	// Gateway is the HTTP gateway; nil: none.
	Gateway *struct {
		Iterations int `json:"iterations"` // calls for each request
	} `json:"gateway"`
	Outlier any `json:"outlier"`
}

// Settings reads the configuration of an arm. Fields with an unexpected type, from another version
// of rpclab, are not set.
func (a Arm) Settings() Settings {
	var s Settings
	if text, err := json.Marshal(a.Config); err == nil {
		_ = json.Unmarshal(text, &s) // the other fields are set
	}
	return s
}

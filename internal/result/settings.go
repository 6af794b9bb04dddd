package result

import "encoding/json"

// Settings are the fields of an arm's configuration that reports read; what is not set is nil or zero.
type Settings struct {
	Caller struct {
		Kind    string `json:"kind"`
		Style   string `json:"style"`
		Stream  any    `json:"stream"`  // messages go by streams that stay open
		Streams any    `json:"streams"` // how many share the load
		Late    any    `json:"late"`
		Hedge   any    `json:"hedge"`
		Retry   any    `json:"retry"`
	} `json:"caller"`
	Server struct {
		CPUs     float64 `json:"cpus"`
		Replicas float64 `json:"replicas"`
		AgeGrace any     `json:"age_grace"`
	} `json:"server"`
	// Gateway makes the calls; nil: there is none.
	Gateway *struct {
		Iterations int `json:"iterations"` // calls for each request
	} `json:"gateway"`
	Outlier any `json:"outlier"`
}

// Settings reads the configuration of an arm. A document of another version may have fields in another
// form: those are not set.
func (a Arm) Settings() Settings {
	var s Settings
	if text, err := json.Marshal(a.Config); err == nil {
		_ = json.Unmarshal(text, &s) // what has its form is read all the same
	}
	return s
}

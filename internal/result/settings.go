package result

import (
	"encoding/json"
	"strings"
)

// Settings are the fields of an arm's configuration that verdicts and reports depend on; nil or
// zero if not set.
type Settings struct {
	// Of `rpclab load ADDRESS` alone, whose settings are not those of an experiment.
	Engine  string `json:"engine"`
	HTTP    int    `json:"http"`    // version; 0: gRPC
	Streams int    `json:"streams"` // most calls in flight on a connection; 0: the server's limit

	Load *struct { // nil: not of an experiment
		Burst    any `json:"burst"`
		Sequence any `json:"sequence"`
		Closed   struct {
			Calls    any `json:"calls"`
			Duration any `json:"duration"`
		} `json:"closed"`
		Open any `json:"open"`
	} `json:"load"`
	Open   bool `json:"open"` // of `rpclab load`: calls are due at a rate
	Caller struct {
		Kind          string        `json:"kind"`
		HTTP2         bool          `json:"http2"`
		Channel       Channel       `json:"channel"`
		Style         string        `json:"style"`
		Stream        any           `json:"stream"`  // calls are messages on streams that stay open
		Streams       any           `json:"streams"` // number of streams
		Late          any           `json:"late"`
		Hedge         any           `json:"hedge"`
		Retry         any           `json:"retry"`
		ServiceConfig ServiceConfig `json:"service_config"`
		JWT           string        `json:"jwt"`
		Signing       bool          `json:"signing"`
		Metadata      float64       `json:"metadata"` // number of headers
	} `json:"caller"`
	Server struct {
		Model    string  `json:"model"`
		Memory   string  `json:"memory"` // limit; empty: none
		Heap     string  `json:"heap"`   // largest of a JVM; empty: a part of its memory
		CPUs     float64 `json:"cpus"`
		Replicas float64 `json:"replicas"`
		AgeGrace any     `json:"age_grace"`
		Security string  `json:"security"`
	} `json:"server"`
	// Gateway is the HTTP gateway; nil: none.
	Gateway *struct {
		Iterations int `json:"iterations"` // calls for each request
	} `json:"gateway"`
	Outlier any    `json:"outlier"`
	Service string `json:"service"` // the user's; empty: rpclab's own servers
}

// ServiceConfig is the part of a gRPC service config that reports depend on.
type ServiceConfig struct {
	MethodConfig []struct {
		RetryPolicy any `json:"retryPolicy"`
	} `json:"methodConfig"`
}

// Retries reports whether the client retries some calls.
func (c ServiceConfig) Retries() bool {
	for _, m := range c.MethodConfig {
		if m.RetryPolicy != nil {
			return true
		}
	}
	return false
}

// Channel is how calls share channels. Pool is the number of channels in a pool; 0: another mode.
type Channel struct{ Pool int }

// UnmarshalJSON reads {"pool": 16} or the name of another mode.
func (c *Channel) UnmarshalJSON(text []byte) error {
	var pool struct {
		Pool int `json:"pool"`
	}
	_ = json.Unmarshal(text, &pool) // fails for the name of a mode
	c.Pool = pool.Pool
	return nil
}

// Settings reads the configuration of an arm.
func (a Arm) Settings() (s Settings) {
	a.readConfig(&s)
	return s
}

// Scheduled reports whether the calls of an arm are due at times of their own, and so can be sent late: those of an open
// loop, and of users who think.
func (a Arm) Scheduled() bool {
	load, _ := a.Config["load"].(map[string]any) // `rpclab load ADDRESS` has a text there
	users, _ := load["closed"].(map[string]any)
	return a.Config["open"] == true || a.Config["think"] != nil || load["open"] != nil || load["search"] != nil || users["think"] != nil
}

// readConfig reads the configuration of an arm into a struct. Fields with an unexpected type, from another version of
// rpclab, are not set.
func (a Arm) readConfig(into any) {
	if text, err := json.Marshal(a.Config); err == nil {
		_ = json.Unmarshal(text, into) // the other fields are set
	}
}

// SettingsByPath maps the path of each field of the configuration, such as load.burst, to its value.
func (a Arm) SettingsByPath() map[string]any { return byPath(a.Config) }

// ByPath maps the path of each field that is set, such as calls.get.method, to its value.
func (s Service) ByPath() map[string]any {
	fields := map[string]any{}
	if text, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(text, &fields) // it is an object
	}
	return byPath(fields)
}

func byPath(config map[string]any) map[string]any {
	all := map[string]any{}
	for name, v := range config {
		fields, deeper := v.(map[string]any)
		if !deeper {
			all[name] = v
			continue
		}
		for path, v := range byPath(fields) {
			all[name+"."+path] = v
		}
	}
	return all
}

// ChangedPaths are the paths of the settings in Changed.
func (d Document) ChangedPaths() (paths []string) {
	for _, assignment := range d.Changed {
		path, _, _ := strings.Cut(assignment, "=")
		paths = append(paths, path)
	}
	return paths
}

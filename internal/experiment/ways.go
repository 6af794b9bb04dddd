package experiment

import "time"

// Gateway is the HTTP interface of study 1: every request makes calls.
type Gateway struct {
	Model      string `yaml:"model" doc:"one-thread: one request at a time; threads: as many as come; async: as many as come, each over a channel of its own, as published" enum:"one-thread,threads,async" default:"threads"`
	Channel    string `yaml:"channel" doc:"shared: one for all requests; per-request: each opens its own (default: per-request of async, else shared)" enum:"shared,per-request"`
	Language   string `yaml:"language" doc:"what it is written in" enum:"go,python" default:"go"`
	Iterations int    `yaml:"iterations" doc:"calls that a request makes, one after the other" min:"1" max:"10000" default:"100"`
}

// Outlier leaves backends out that fail more often than they may (gRFC A50).
type Outlier struct {
	Failures Percent       `yaml:"failures" doc:"of a backend's calls in an interval; when more of them fail, it is left out" min:"1%" max:"99%" default:"50%"`
	Calls    int           `yaml:"calls" doc:"calls in an interval under which a backend is not judged" min:"1" max:"1000000" default:"10"`
	Interval time.Duration `yaml:"interval" doc:"how often backends are judged" min:"10ms" max:"1h" default:"500ms"`
	Eject    time.Duration `yaml:"eject" doc:"how long a backend is left out the first time" min:"10ms" max:"1h" default:"5s"`
	Most     Percent       `yaml:"most" doc:"of the backends; when as many are left out, no further one is" min:"1%" max:"100%" default:"50%"`
}

// Proxy says how the proxy of a route stands.
type Proxy struct {
	Place   string `yaml:"place" doc:"gateway: one for all callers; sidecar: one for each" enum:"gateway,sidecar" default:"gateway"`
	Workers int    `yaml:"workers" doc:"threads or processes of the proxy" min:"1" max:"64" default:"1"`
}

// Retry tries failed calls again, in the client's service config.
type Retry struct {
	Attempts int           `yaml:"attempts" doc:"tries in all" min:"2" max:"5" default:"3"`
	Backoff  time.Duration `yaml:"backoff" doc:"the wait before the second try, 20 % at random more or less; each later one is twice as long" min:"1ms" max:"1m" default:"10ms"`
	Codes    []string      `yaml:"codes" doc:"the codes that are tried again (default: UNAVAILABLE)"`
}

// Hedge sends a call again that has no answer yet; the first answer counts.
type Hedge struct {
	Attempts int           `yaml:"attempts" doc:"calls in all" min:"2" max:"5" default:"2"`
	Delay    time.Duration `yaml:"delay" doc:"from one to the next" min:"1ms" max:"1m" default:"50ms"`
}

// Stream makes calls messages, each answered before the next on its stream, unless they
// are pipelined.
type Stream struct {
	Pipelined bool          `yaml:"pipelined" doc:"all messages are sent on one stream, whatever the answers do: they do not depend on each other"`
	Renew     time.Duration `yaml:"renew" doc:"after this the caller closes a stream between two messages and opens another (default: never)" max:"1h"`
}

// CallerCount is how many processes share the load, at least 1.
func (c Config) CallerCount() int { return max(c.Callers, 1) }

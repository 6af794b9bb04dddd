package experiment

import "time"

// Event is exactly one action at a time after the start of the load.
type Event struct {
	At     time.Duration `yaml:"at" doc:"time after the start of the load" max:"24h" required:"true" quick:"down"`
	Scale  int           `yaml:"scale" doc:"to this many backends, gracefully" min:"1" max:"250" alternative:"true"`
	Stop   int           `yaml:"stop" doc:"stop this many gracefully, the oldest; each is replaced" min:"1" max:"250" alternative:"true"`
	Kill   int           `yaml:"kill" doc:"SIGKILL this many, the oldest; each is replaced" min:"1" max:"250" alternative:"true"`
	Pause  int           `yaml:"pause" doc:"SIGSTOP this many, the oldest" min:"1" max:"250" alternative:"true"`
	Resume bool          `yaml:"resume" doc:"SIGCONT all that are paused" alternative:"true"`
	Slow   *Slow         `yaml:"slow" doc:"make the oldest backends slower" alternative:"true"`
	Fail   *Fail         `yaml:"fail" doc:"the oldest backends answer every call with an error" alternative:"true"`
	Flap   *Flap         `yaml:"flap" doc:"the health of the oldest backends turns to and fro" alternative:"true"`
	Roll   bool          `yaml:"roll" doc:"replace every backend, one after the other, each new one ready before an old one stops" alternative:"true"`
	Cut    *Cut          `yaml:"cut" doc:"cut the connections of the oldest backends" alternative:"true"`
	Drain  int           `yaml:"drain" doc:"close this many nodes to new pods, those of the oldest backends, and evict the backends there; on kubernetes" min:"1" max:"250" alternative:"true"`
	Cordon int           `yaml:"cordon" doc:"close this many nodes to new pods, those of the oldest backends; on kubernetes" min:"1" max:"250" alternative:"true"`
	DNS    *DNS          `yaml:"dns" doc:"the name server is slow, or lies" alternative:"true"`

	Recover     bool `yaml:"recover" doc:"end slow, fail, flap, cut and dns" alternative:"true"`
	KillProxy   bool `yaml:"kill_proxy" doc:"SIGKILL the route's proxies; each starts again at once" alternative:"true"`
	KillControl bool `yaml:"kill_control" doc:"SIGKILL the route's control plane, which stays away" alternative:"true"`
}

// Slow makes answers of some backends slower, by a time or by a factor; By 0 without
// Times ends it.
type Slow struct {
	Backends int           `yaml:"backends" doc:"how many" min:"1" max:"250" required:"true"`
	By       time.Duration `yaml:"by" doc:"added to every answer" max:"1m"`
	Times    float64       `yaml:"times" doc:"an answer takes this many times as long" min:"1" max:"1000"`
}

// Fail makes some backends answer at once with an error.
type Fail struct {
	Backends int    `yaml:"backends" doc:"how many" min:"1" max:"250" required:"true"`
	Code     string `yaml:"code" doc:"of the error" enum:"UNAVAILABLE,INTERNAL,RESOURCE_EXHAUSTED" default:"UNAVAILABLE"`
}

// Flap turns the health of some backends: not serving for Every, serving for Every.
type Flap struct {
	Backends int           `yaml:"backends" doc:"how many" min:"1" max:"250" required:"true"`
	Every    time.Duration `yaml:"every" doc:"from one turn to the next" min:"10ms" max:"1h" default:"1s"`
}

// Cut cuts what is between callers and some backends.
type Cut struct {
	Backends int    `yaml:"backends" doc:"how many" min:"1" max:"250" required:"true"`
	How      string `yaml:"how" doc:"reset: each connection there is ends with RST; blackhole: packets vanish, until recover" enum:"reset,blackhole" default:"reset"`
}

// DNS is how the name server misbehaves; neither field ends it.
type DNS struct {
	Delay time.Duration `yaml:"delay" doc:"before every answer" max:"1m"`
	Lie   bool          `yaml:"lie" doc:"answers with addresses at which nothing listens"`
}

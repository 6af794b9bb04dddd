package experiment

import (
	"fmt"
	"strconv"
	"time"
)

// Event is exactly one action at a time after the start of the load.
type Event struct {
	At     time.Duration `yaml:"at" doc:"time after the start of the load" max:"24h" required:"true" quick:"down"`
	Scale  int           `yaml:"scale" doc:"scale to this number of backends, gracefully" min:"1" max:"250" alternative:"true"`
	Stop   int           `yaml:"stop" doc:"stop this many of the oldest backends gracefully; each is replaced" min:"1" max:"250" alternative:"true"`
	Kill   int           `yaml:"kill" doc:"kill this many of the oldest backends (SIGKILL); each is replaced" min:"1" max:"250" alternative:"true"`
	Pause  int           `yaml:"pause" doc:"pause this many of the oldest backends (SIGSTOP)" min:"1" max:"250" alternative:"true"`
	Resume bool          `yaml:"resume" doc:"resume all paused backends (SIGCONT)" alternative:"true"`
	Slow   *Slow         `yaml:"slow" doc:"slow the oldest backends down" alternative:"true"`
	Fail   *Fail         `yaml:"fail" doc:"make the oldest backends return an error for every call, or for a share of calls" alternative:"true"`
	Flap   *Flap         `yaml:"flap" doc:"make the health status of the oldest backends alternate" alternative:"true"`
	Roll   bool          `yaml:"roll" doc:"rolling update: replace the backends one by one; each new backend is ready before an old one stops" alternative:"true"`
	RollTo string        `yaml:"roll_to" doc:"rolling update to another version: the new backends are those of this service, of services" alternative:"true"`
	Cut    *Cut          `yaml:"cut" doc:"cut the connections of the oldest backends" alternative:"true"`
	Drain  int           `yaml:"drain" doc:"drain this many nodes: cordon the nodes of the oldest backends and evict those backends; on kubernetes" min:"1" max:"250" alternative:"true"`
	Cordon int           `yaml:"cordon" doc:"cordon this many nodes, those of the oldest backends; on kubernetes" min:"1" max:"250" alternative:"true"`
	DNS    *DNS          `yaml:"dns" doc:"make the DNS server slow, or its answers wrong" alternative:"true"`

	Recover     bool `yaml:"recover" doc:"end slow, fail, flap, cut and dns events" alternative:"true"`
	KillProxy   bool `yaml:"kill_proxy" doc:"kill the proxies of the route (SIGKILL); each restarts at once" alternative:"true"`
	KillControl bool `yaml:"kill_control" doc:"kill the control plane of the route (SIGKILL); it does not restart" alternative:"true"`
}

// Slow makes responses of some backends slower, by a time or by a factor; By 0 without
// Times ends it.
type Slow struct {
	Backends int           `yaml:"backends" doc:"number of backends" min:"1" max:"250" required:"true"`
	By       time.Duration `yaml:"by" doc:"extra delay of every response" max:"1m"`
	Times    float64       `yaml:"times" doc:"factor by which responses take longer" min:"1" max:"1000"`
}

// Fail makes some backends return an error at once.
type Fail struct {
	Backends int     `yaml:"backends" doc:"number of backends" min:"1" max:"250" required:"true"`
	Code     string  `yaml:"code" doc:"status code of the error" enum:"UNAVAILABLE,INTERNAL,RESOURCE_EXHAUSTED" default:"UNAVAILABLE"`
	Share    Percent `yaml:"share" doc:"share of the backends' calls, drawn at random, that return the error" min:"0.1%" max:"100%" default:"100%"`
}

// Flap turns the health of some backends: not serving for Every, serving for Every.
type Flap struct {
	Backends int           `yaml:"backends" doc:"number of backends" min:"1" max:"250" required:"true"`
	Every    time.Duration `yaml:"every" doc:"time between changes" min:"10ms" max:"1h" default:"1s"`
}

// Cut cuts the connections, or the network, between callers and some backends.
type Cut struct {
	Backends int    `yaml:"backends" doc:"number of backends" min:"1" max:"250" required:"true"`
	How      string `yaml:"how" doc:"reset: close each connection with RST; blackhole: drop all packets until recover" enum:"reset,blackhole" default:"reset"`
}

// DNS is a fault of the DNS server; without a field it ends the fault.
type DNS struct {
	Delay time.Duration `yaml:"delay" doc:"delay before every answer" max:"1m"`
	Lie   bool          `yaml:"lie" doc:"answer with addresses on which no server listens"`
}

// String describes the action without its time: scale 10, kill 1, cut 1 by reset.
func (e Event) String() string {
	word, backends := e.backendAction()
	switch {
	case e.Scale > 0:
		return fmt.Sprintf("scale %d", e.Scale)
	case e.Resume:
		return "resume"
	case e.Roll:
		return "roll"
	case e.RollTo != "":
		return "roll to " + e.RollTo
	case e.DNS != nil:
		return e.DNS.String()
	case e.Recover:
		return "recover"
	case e.KillProxy:
		return "kill proxy"
	case e.KillControl:
		return "kill control"
	case word == "":
		return "nothing"
	}
	return fmt.Sprintf("%s %d%s", word, backends, e.detail())
}

// Action returns the name of the action's field, and the number of backends: the affected ones or, for scale,
// the new number. A count of 0 means all backends, or none.
func (e Event) Action() (action string, count int) {
	switch {
	case e.Scale > 0:
		return "scale", e.Scale
	case e.Resume:
		return "resume", 0
	case e.Rolls():
		return "roll", 0
	case e.DNS != nil:
		return "dns", 0
	case e.Recover:
		return "recover", 0
	case e.KillProxy:
		return "kill_proxy", 0
	case e.KillControl:
		return "kill_control", 0
	}
	return e.backendAction()
}

// Rolls reports whether the event replaces every backend, one by one.
func (e Event) Rolls() bool { return e.Roll || e.RollTo != "" }

// NeedsFaultProxy reports whether a proxy before the backends of a user's service performs the event. rpclab's own
// servers perform it themselves. In pods the proxy also makes the health alternate, resets connections, and is what a
// pause suspends.
func (e Event) NeedsFaultProxy(inPods bool) bool {
	return e.Slow != nil || e.Fail != nil || inPods && (e.Flap != nil || e.Pause > 0 || e.Cut != nil)
}

// backendAction returns the field and the number of backends of an action on some backends; "": another action.
func (e Event) backendAction() (word string, backends int) {
	switch {
	case e.Stop > 0:
		return "stop", e.Stop
	case e.Kill > 0:
		return "kill", e.Kill
	case e.Pause > 0:
		return "pause", e.Pause
	case e.Slow != nil:
		return "slow", e.Slow.Backends
	case e.Fail != nil:
		return "fail", e.Fail.Backends
	case e.Flap != nil:
		return "flap", e.Flap.Backends
	case e.Cut != nil:
		return "cut", e.Cut.Backends
	case e.Drain > 0: // each node runs at least one backend
		return "drain", e.Drain
	case e.Cordon > 0:
		return "cordon", e.Cordon
	}
	return "", 0
}

// detail returns the rest of the clause, after the number of backends.
func (e Event) detail() string {
	switch {
	case e.Slow != nil && e.Slow.Times > 0:
		return " times " + strconv.FormatFloat(e.Slow.Times, 'f', -1, 64)
	case e.Slow != nil:
		return " by " + formatDuration(e.Slow.By)
	case e.Fail != nil && e.Fail.Share < 100:
		return fmt.Sprintf(" with %s for %s of calls", e.Fail.Code, e.Fail.Share)
	case e.Fail != nil:
		return " with " + e.Fail.Code
	case e.Flap != nil:
		return " every " + formatDuration(e.Flap.Every)
	case e.Cut != nil:
		return " by " + e.Cut.How
	}
	return ""
}

// String describes the fault of the DNS server: dns delay 2s, wrong answers.
func (d DNS) String() string {
	switch {
	case d.Delay > 0 && d.Lie:
		return "dns delay " + formatDuration(d.Delay) + ", wrong answers"
	case d.Delay > 0:
		return "dns delay " + formatDuration(d.Delay)
	case d.Lie:
		return "dns wrong answers"
	}
	return "dns recovers"
}

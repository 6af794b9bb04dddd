package result

// Event is something done to the cluster in a trial and what came of it.
type Event struct {
	Arm   string  `json:"arm,omitempty"`
	Cell  Cell    `json:"cell,omitempty"`
	Round int     `json:"round,omitempty"`
	AtMS  float64 `json:"at_ms"` // since the start of the trial's load
	What  string  `json:"what"`  // scale 10, kill 1
	// Action is what was done, and Count to how many backends, or to how many it was scaled;
	// Resets says that connections were reset, which leaves their backends in service.
	Action Action `json:"action,omitempty"`
	Count  int    `json:"count,omitempty"`
	Resets bool   `json:"resets,omitempty"`
	Took   Took   `json:"took"`
	// Affected are the backends that it was done to, of so many that were ready just before.
	Affected []string `json:"hit,omitempty"`
	Ready    int      `json:"ready,omitempty"`
	// Failed is how many calls failed from this event to the next, or to the end, and
	// Errors how many by which code; Late is how many were answered late.
	Failed uint64            `json:"failed"`
	Errors map[string]uint64 `json:"errors,omitempty"`
	Late   uint64            `json:"late"`
	// Of the calls due until then so many were answered, and so many by the backends hit.
	Answered           uint64 `json:"answered,omitempty"`
	AnsweredByAffected uint64 `json:"answered_by_hit,omitempty"`
	Error              string `json:"error,omitempty"` // why it could not be done
}

// Action is the kind of an event.
type Action string

// The actions of events, in the words of an experiment's YAML.
const (
	ActionScale       Action = "scale"
	ActionStop        Action = "stop"
	ActionKill        Action = "kill"
	ActionRoll        Action = "roll"
	ActionDrain       Action = "drain"
	ActionCordon      Action = "cordon"
	ActionPause       Action = "pause"
	ActionResume      Action = "resume"
	ActionSlow        Action = "slow"
	ActionFail        Action = "fail"
	ActionFlap        Action = "flap"
	ActionCut         Action = "cut"
	ActionDNS         Action = "dns"
	ActionRecover     Action = "recover"
	ActionKillProxy   Action = "kill_proxy"
	ActionKillControl Action = "kill_control"
)

// Took holds milliseconds from the event until each thing was true; nil: it was
// not seen before the next event, or the route has no such step.
type Took struct {
	EndpointReady   *float64 `json:"endpoint_ready"` // every change published
	ResolverUpdated *float64 `json:"client_told"`    // the caller's resolver had the new set
	FirstCall       *float64 `json:"first_call"`     // first answer from a new backend
	// Avoided is when callers left the backends hit alone, for 1 s: of the calls that were
	// due then none went to one that goes away, and not more than half of a fair share to
	// those that stay. Where connections are reset it is when no call was lost any more.
	Avoided *float64 `json:"noticed"`
	// Of an event on a proxy or a control plane, not on backends: when a call that was
	// due was lost for the first time, and from when on none was, for 1 s.
	FirstLoss *float64 `json:"first_loss,omitempty"`
	Recovered *float64 `json:"served_again,omitempty"`
	// ProxyReady is when the proxies that were killed were ready again.
	ProxyReady      *float64 `json:"part_back,omitempty"`
	BalanceRestored *float64 `json:"balance_restored"` // Jain ≥ 0.95, kept for 1 s
	// BalanceNote says why BalanceRestored is not there.
	BalanceNote string `json:"balance_note,omitempty"`
}

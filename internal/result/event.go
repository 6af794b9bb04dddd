package result

// Event is a change or fault during a trial, and its effects.
type Event struct {
	Arm   string  `json:"arm,omitempty"`
	Cell  Cell    `json:"cell,omitempty"`
	Round int     `json:"round,omitempty"`
	AtMS  float64 `json:"at_ms"` // since the start of the trial's load
	// DueMS is when it was due, since the start of the load; nil: the document is older.
	DueMS *float64 `json:"due_ms,omitempty"`
	What  string   `json:"what"` // scale 10, kill 1
	// Action is the kind of change. Count is the number of affected backends or, for scale, the
	// new number. Resets says that the event reset connections; their backends stay in service.
	Action Action `json:"action,omitempty"`
	Count  int    `json:"count,omitempty"`
	Resets bool   `json:"resets,omitempty"`
	Took   Took   `json:"took"`
	// Affected are the backends that the event changed. Ready is the number of ready backends
	// just before.
	Affected []string `json:"hit,omitempty"`
	Ready    int      `json:"ready,omitempty"`
	// Added is the number of backends that became ready because of this event, even after the next one;
	// 0: none, or the document is older.
	Added int `json:"added,omitempty"`
	// Failed, Errors and Late count the calls that failed, failed by code, and were answered
	// late, from this event to the next or to the end.
	Failed uint64            `json:"failed"`
	Errors map[string]uint64 `json:"errors,omitempty"`
	Late   uint64            `json:"late"`
	// Answered counts the answered calls that were due in that time, AnsweredByAffected those
	// that affected backends answered.
	Answered           uint64 `json:"answered,omitempty"`
	AnsweredByAffected uint64 `json:"answered_by_hit,omitempty"`
	// CalledBefore says whether the affected backends answered calls of the second before the event. If not,
	// callers could not avoid them. nil: not known, or no backend was affected.
	CalledBefore *bool `json:"called_before,omitempty"`
	// AvoidedUnknown says that the next event, or the last call, came too soon after this event to tell whether
	// callers avoided the affected backends.
	AvoidedUnknown bool `json:"avoided_unknown,omitempty"`
	// CalledUnready says that the client called all added backends while they were not ready. They are not new to it, so there
	// is no first call.
	CalledUnready bool `json:"called_unready,omitempty"`
	// BackendsUnknown says that rpclab does not know which backends answered. Then times and counts of
	// calls to certain backends are not known either.
	BackendsUnknown bool   `json:"backends_unknown,omitempty"`
	Error           string `json:"error,omitempty"` // why the event failed
	// Unfinished says how far a rollout or a scaling was when the load ended; nil: it was complete.
	Unfinished *Unfinished `json:"unfinished,omitempty"`
}

// Unfinished counts the backends of an event that was not complete when the load ended.
type Unfinished struct {
	Done int `json:"done"` // replaced by a rollout, or ready after a scaling
	Of   int `json:"of"`   // how many should have been
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

// Took holds the milliseconds from the event to each effect. nil: not observed before the next
// event, or the route has no such step.
type Took struct {
	EndpointReady   *float64 `json:"endpoint_ready"` // every change is published
	ResolverUpdated *float64 `json:"client_told"`    // the caller's resolver has the new set
	FirstCall       *float64 `json:"first_call"`     // first answer from a backend that the event added
	// Avoided is when callers stopped calling the affected backends, for 1 s: no call went to a
	// backend that is removed, and at most half of a fair share to those that stay. After a
	// reset of connections it is when no more calls were lost. A call that is sent again (retry, hedging)
	// counts for the backend whose response was used, so that others may still receive it.
	Avoided *float64 `json:"noticed"`
	// FirstLoss and Recovered are set for events on a proxy or a control plane: when the first
	// call was lost, and when calls that were not lost for 1 s were answered.
	FirstLoss *float64 `json:"first_loss,omitempty"`
	Recovered *float64 `json:"served_again,omitempty"`
	// ProxyReady is when the killed proxies were ready again.
	ProxyReady      *float64 `json:"part_back,omitempty"`
	BalanceRestored *float64 `json:"balance_restored"` // Jain ≥ 0.95, kept for 1 s
	// BalanceNote says why BalanceRestored is nil, and BalanceCause says it as fields.
	BalanceNote  string `json:"balance_note,omitempty"`
	BalanceCause *Cause `json:"balance_cause,omitempty"`
}

// FollowTime is the time in ms from an event that added backends to the first answer from one of them. A
// trial with several such events counts with the slowest.
type FollowTime struct {
	Trials int `json:"trials"`
	Never  int `json:"never"` // trials without an answer before the next event or the end
	// MedianMS is nil if half of the trials or more are Never.
	MedianMS *float64 `json:"median_ms"`
	// LowMS and HighMS are an exact interval of 95 % for the median, by the binomial distribution. nil:
	// there are fewer than 6 trials, or HighMS has no bound.
	LowMS  *float64 `json:"low_ms"`
	HighMS *float64 `json:"high_ms"`
}

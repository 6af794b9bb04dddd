package result

// MachineWarning is something outside the experiment that disturbed the run, as fields. The warnings
// of the document have the same sentence.
type MachineWarning struct {
	Kind MachineWarningKind `json:"kind" enum:"busy,shared,frozen,starved,stopped,clock,idle,crowded"`
	Text string             `json:"text"`
	// Arm, Cell and Round name the trial; empty: the whole run.
	Arm   string `json:"arm,omitempty"`
	Cell  Cell   `json:"cell,omitempty"`
	Round int    `json:"round,omitempty"`
	// Rounds are all rounds of the arm with such a warning, in order; empty: there is one.
	Rounds []int `json:"rounds,omitempty"`
	// Process is what was frozen or starved (greeter-1, or "greeter-1, greeter-2"), or the other run.
	Process string `json:"process,omitempty"`
	// Share is the share of all CPU time that other programs used, in the median trial, or that arms at
	// the same time and all else used; of an idle arm, the share of one CPU that it used; 0: another kind.
	Share float64 `json:"share,omitempty"`
	// DurationMS is how long it lasted, or how far the clock jumped, at most in any of the rounds; 0: another kind.
	DurationMS float64 `json:"duration_ms,omitempty"`
}

// MachineWarningKind is the kind of a [MachineWarning].
type MachineWarningKind string

// The kinds of warnings about the machine.
const (
	MachineBusy    MachineWarningKind = "busy"    // other programs used CPU time
	MachineShared  MachineWarningKind = "shared"  // with another rpclab run
	ProcessFrozen  MachineWarningKind = "frozen"  // a process was suspended, and not by the experiment
	ProcessStarved MachineWarningKind = "starved" // a process waited for a CPU
	RpclabStopped  MachineWarningKind = "stopped" // rpclab itself did not run
	ClockJumped    MachineWarningKind = "clock"   // the wall clock
	IdleArmBusy    MachineWarningKind = "idle"    // an arm used CPU time while other arms took their turns
	ArmsCrowded    MachineWarningKind = "crowded" // arms that ran at the same time used much of the CPU time
)

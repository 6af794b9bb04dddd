package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
)

// amid sets the share of CPU time that other programs used in each trial.
func amid(d result.Document, others ...float64) result.Document {
	for i := range d.Arms {
		d.Arms[i].Trials = slices.Clone(d.Arms[i].Trials)
		for j := range d.Arms[i].Trials {
			d.Arms[i].Trials[j].Machine = &result.Interference{Others: &others[j%len(others)]}
		}
	}
	return d
}

func TestABusyMachineIsAWarningFrom20Percent(t *testing.T) {
	for want, others := range map[string][]float64{
		"":       {0.05, 0.19, 0.1, 0.3},
		"busy 0": {0.05, 0.1, 0.1, 0.97},
		"busy 6": {0.56, 0.61, 0.7, 0.61},
	} {
		d := Assemble(amid(runOf(t, 10, 10.1, 9.9, 10), others...))
		got := ""
		for _, w := range d.MachineWarnings {
			got += string(w.Kind) + " " + string('0'+rune(w.Share*10))
			if !slices.Contains(d.Warnings, w.Text) {
				t.Errorf("the warnings are %q, without %q", d.Warnings, w.Text)
			}
		}
		if want == "busy 0" {
			want = "busy 1" // the median
		}
		if got != want {
			t.Errorf("others %v: the warnings are %q, want %q", others, got, want)
		}
	}
	text := strings.Join(Assemble(amid(runOf(t, 10, 10.1, 9.9, 10), 0.56, 0.61, 0.97, 0.61)).Warnings, "\n")
	if want := "other programs used 61 % (median trial) to 97 % of the CPU time, so calls take longer and vary more; use a quiet machine"; text != want {
		t.Errorf("the warnings are\n%s\nwant\n%s", text, want)
	}
}

// Two runs of the same program, of which one had half of the machine.
func TestRunsOnABusyMachineAreNotCompared(t *testing.T) {
	quiet, busy := amid(runOf(t, 10, 10.1, 9.9, 10), 0.04), amid(runOf(t, 20, 20.1, 19.9, 20), 0.61)
	o := CompareOptions{Gates: gates(t, "p50 ratio < 1.05")}
	c := Compare(quiet, busy, o)
	const why = "in B, other programs used 61 % of the CPU time, and from 50 % on runs are not compared: repeat it on a quiet machine, or use --allow busy"
	if r := ratioOf(t, c, "latency_p50"); r.Decision != "undecided" || r.Reason != why || r.Cause.Kind != result.CauseInterference || r.Cause.Run != "B" {
		t.Errorf("the verdict is %s: %q %+v, want undecided: %q", r.Decision, r.Reason, r.Cause, why)
	}
	if g := c.Gates[0]; g.Outcome != "not established" || g.Reason != why {
		t.Errorf("the gate is %s: %q, want not established: %q", g.Outcome, g.Reason, why)
	}
	if c.A.Others == nil || *c.A.Others != 0.04 || c.B.Others == nil || *c.B.Others != 0.61 {
		t.Errorf("others are %v in A and %v in B, want 0.04 and 0.61", c.A.Others, c.B.Others)
	}
	if want := "other programs used CPU time: 4 % in A, 61 % in B (median trials)"; !slices.Equal(c.Warnings, []string{want}) {
		t.Errorf("the warnings are %q, want %q", c.Warnings, want)
	}
	o.Allow = []string{"busy"}
	if r := ratioOf(t, Compare(quiet, busy, o), "latency_p50"); r.Decision != "worse" {
		t.Errorf("with --allow busy the verdict is %s: %q, want worse", r.Decision, r.Reason)
	}
	if r := ratioOf(t, Compare(quiet, amid(busy, 0.49), CompareOptions{}), "latency_p50"); r.Decision != "worse" {
		t.Errorf("with 49 %% of others the verdict is %s: %q, want worse", r.Decision, r.Reason)
	}
}

func TestADocumentThatDoesNotKnowOthersHasNoWarning(t *testing.T) {
	d := runOf(t, 10, 10.1, 9.9, 10)
	if c := Compare(d, d, CompareOptions{}); len(d.MachineWarnings)+len(c.Warnings) > 0 || c.A.Others != nil {
		t.Errorf("warnings are %v and %q, others %v; want none", d.MachineWarnings, c.Warnings, c.A.Others)
	}
}

func TestAnotherRunIsOneWarningWithTheTrialsThatItShared(t *testing.T) {
	d := runOf(t, 10, 10.1, 9.9, 10)
	d.Arms[0].Trials = slices.Clone(d.Arms[0].Trials)
	other := running.Run{PID: 12, Command: "rpclab run mine", Started: time.Date(2026, 11, 23, 3, 40, 12, 0, time.UTC)}
	for _, i := range []int{1, 2} {
		d.Arms[0].Trials[i].MachineWarnings = Shared([]running.Run{other})
	}
	const want = "another rpclab run used this machine in 2 of 4 trials: rpclab run mine (process 12, since 03:40:12 UTC)"
	d = Assemble(d)
	if len(d.MachineWarnings) != 1 || d.MachineWarnings[0].Kind != result.MachineShared || !slices.Equal(d.Warnings, []string{want}) {
		t.Errorf("the warnings are %q, %+v; want %q", d.Warnings, d.MachineWarnings, want)
	}
	if c := Compare(runOf(t, 10, 10.1, 9.9, 10), d, CompareOptions{}); !slices.Equal(c.Warnings, []string{"in B, " + want}) {
		t.Errorf("the comparison warns %q", c.Warnings)
	}
}

func TestStallsNameTheirProcessAndTrial(t *testing.T) {
	d := runOf(t, 10, 10.1, 9.9, 10)
	d.TrialCount = 4
	d.Arms[0].Trials = slices.Clone(d.Arms[0].Trials)
	d.Arms[0].Trials[1].MachineWarnings = Stalls([]measure.Stall{
		{Kind: measure.Frozen, Name: "greeter-1", Duration: 1500 * time.Millisecond},
		{Kind: measure.Starved, Name: "envoy-0", Duration: 2 * time.Second},
		{Kind: measure.Stopped, Duration: 1500 * time.Millisecond},
		{Kind: measure.ClockJump, Duration: -time.Hour},
	})
	want := []string{
		"shared, round 2: greeter-1 was frozen for 1.5 s, and not by the experiment (SIGSTOP or a debugger)",
		"shared, round 2: envoy-0 got almost no CPU time for 2.0 s, although it waited for a CPU",
		"shared, round 2: rpclab itself did not run for 1.5 s (it was stopped, or got no CPU time)",
		"shared, round 2: the clock of this machine jumped by -3600.0 s (it was set, or the machine was suspended)",
	}
	d = Assemble(d)
	if !slices.Equal(d.Warnings, want) {
		t.Errorf("the warnings are %q, want %q", d.Warnings, want)
	}
	if w := d.MachineWarnings[0]; w.Kind != result.ProcessFrozen || w.Process != "greeter-1" || w.Arm != "shared" || w.Round != 2 || w.DurationMS != 1500 {
		t.Errorf("the first warning is %+v, want greeter-1 frozen for 1500 ms in round 2 of shared", w)
	}
	for i := range want { // a stall of the earlier run makes the later one look quick
		want[i] = "in A, " + want[i]
	}
	if c := Compare(d, runOf(t, 10, 10.1, 9.9, 10), CompareOptions{}); !slices.Equal(c.Warnings, want) {
		t.Errorf("the comparison warns %q, want %q", c.Warnings, want)
	}
}

// TestStallsOfOneArmAreOneWarning checks that processes that were starved in many rounds are named once.
func TestStallsOfOneArmAreOneWarning(t *testing.T) {
	d := runOf(t, 10, 10.1, 9.9, 10)
	d.TrialCount = 4
	d.Arms[0].Trials = slices.Clone(d.Arms[0].Trials)
	for i, s := range []measure.Stall{
		{Kind: measure.Starved, Name: "greeter-2", Duration: time.Second},
		{Kind: measure.Starved, Name: "greeter-0", Duration: 1200 * time.Millisecond},
		{Kind: measure.Starved, Name: "greeter-2", Duration: time.Second},
	} {
		d.Arms[0].Trials[i].MachineWarnings = Stalls([]measure.Stall{s})
	}
	want := "shared, rounds 1 to 3: greeter-0 and greeter-2 got almost no CPU time for up to 1.2 s, although they waited for a CPU"
	all := MachineWarnings(d)
	if len(all) != 1 || all[0].Text != want {
		t.Fatalf("the warnings are %+v, want %q", all, want)
	}
	if w := all[0]; w.Round != 1 || !slices.Equal(w.Rounds, []int{1, 2, 3}) || w.Process != "greeter-0, greeter-2" || w.DurationMS != 1200 {
		t.Errorf("%+v", w)
	}
}

func TestAnArmThatWorksWhileOthersTakeTheirTurnsIsNamed(t *testing.T) {
	d := arms(t, 10, 10, 10)
	for i := range d.Arms[1].Trials {
		d.Arms[0].Trials[i].IdleCPU, d.Arms[1].Trials[i].IdleCPU = new(0.01), new([]float64{0.01, 0.12, 0.2}[i])
	}
	warnings := MachineWarnings(d)
	if len(warnings) != 1 || warnings[0].Kind != result.IdleArmBusy || warnings[0].Arm != "other" || !strings.Contains(warnings[0].Text, "other used 12 % of a CPU while other arms took their turns") {
		t.Errorf("%+v", warnings)
	}
}

// Arms that run at the same time share the machine, so they must leave most of it idle.
func TestArmsSideBySideLeaveTheMachineMostlyIdle(t *testing.T) {
	for name, c := range map[string]struct {
		design  string
		busy    []float64
		warning string
		decides bool
	}{
		"mostly idle":          {"side-by-side", []float64{0.3, 0.4, 0.9, 0.4}, "", true},
		"half busy":            {"side-by-side", []float64{0.6, 0.6, 0.6, 0.9}, "two arms ran at the same time, and 60 % of the CPU time was in use", true},
		"busy":                 {"side-by-side", []float64{0.6, 0.9, 0.9, 0.9}, "two arms ran at the same time, and 90 % of the CPU time was in use", false},
		"not known":            {"side-by-side", nil, "", true},
		"one after another":    {"isolated", []float64{0.9, 0.9, 0.9, 0.9}, "", true},
		"arms that take turns": {"interleaved", []float64{0.9, 0.9, 0.9, 0.9}, "", true},
	} {
		d := arms(t, 20, 20, 20, 20)
		d.Design = c.design
		for i, busy := range c.busy {
			for arm := range d.Arms {
				d.Arms[arm].Trials[i].Machine = &result.Interference{Busy: &busy}
			}
		}
		d = Assemble(d)
		warning := strings.Join(d.Warnings, "\n")
		if strings.Contains(warning, "at the same time") != (c.warning != "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: the warnings are %q, want %q", name, warning, c.warning)
		}
		v := p50(t, d)
		if c.decides != (v.Decision == "worse") || v.Unfit == c.decides || !c.decides && (v.Cause.Kind != result.CauseInterference || v.Cause.Share != 0.9) {
			t.Errorf("%s: the verdict is %s, %q (%+v), want one: %v", name, v.Decision, v.Reason, v.Cause, c.decides)
		}
	}
}

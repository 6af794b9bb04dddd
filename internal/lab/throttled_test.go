package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/route/part"
)

// What a quota takes from pods is told apart by who set it: one of the experiment's own may
// be the question, one of somebody else's spoils the answer.
func TestAQuotaOfTheExperimentIsNoOthers(t *testing.T) {
	callers := measure.Measurement{CPU: 3 * time.Second, Throttled: time.Second, Stolen: 0.1}
	backends := map[string]cluster.Usage{"a": {CPU: time.Second, Throttled: 2 * time.Second, Stolen: 0.3}, "b": {CPU: time.Second}}
	proxy := cluster.Usage{CPU: time.Second, Throttled: time.Second, Stolen: 0.2}
	for limited, throttled := range map[bool]float64{true: 2.0 / 6, false: 4.0 / 10} {
		b := overNodes(callers, backends, limited, proxy)
		if b.Throttled != throttled || b.Stolen != 0.3 || b.Others != nil {
			t.Errorf("limited: %t: %+v; throttled should be %g and stolen 0.3", limited, b, throttled)
		}
	}
}

func TestServersThatWaitedForTheirOwnQuotaAreAWarning(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	d.Cluster = "kubernetes"
	other := &d.Arms[1]
	for i := range other.Trials {
		used := &other.Trials[i].Resources.Server
		used.CPU, used.ThrottledMS = 1e3, float64(other.Trials[i].Calls) // a millisecond a call each
	}
	if got := Assemble(d).Warnings; slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "throttled") }) {
		t.Errorf("without a limit of theirs: %q", got)
	}
	other.Config = map[string]any{"server": map[string]any{"cpus": 0.5}}
	want := "other: its servers were throttled: their quota (server.cpus: 0.5) took 50 % of the processors' time that they wanted; unless that is what is asked, raise server.cpus"
	got := Assemble(d)
	if !slices.Contains(got.Warnings, want) {
		t.Errorf("the warnings are %q, without %q", got.Warnings, want)
	}
	if v := got.Verdicts[0]; v.Decision == "undecided" {
		t.Errorf("a limit that may be the question leaves it undecided: %s", v.Reason)
	}
	if sum, one := got.Arms[1].Resources.Server.ThrottledMS, other.Trials[0].Resources.Server.ThrottledMS; sum < one*float64(len(other.Trials)) {
		t.Errorf("the arm's servers waited %g ms in all, those of one trial %g ms", sum, one)
	}
}

func TestAQuotaOfTheClusterLeavesARunUndecided(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	d.Cluster = "kubernetes"
	for i := range d.Arms[1].Trials {
		d.Arms[1].Trials[i].Machine = &result.Beside{Throttled: 0.2}
	}
	if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, "LimitRange") {
		t.Errorf("%s, %s", v.Decision, v.Reason)
	}
}

// Parts share their container, whose waiting is counted once.
func TestAContainersWaitingIsThatOfTheFirstPartInIt(t *testing.T) {
	began := measure.LookAtProcessors()
	began.Throttled -= time.Second
	all := standAnswer{Usage: map[string]cluster.Usage{part.Proxy: {}, part.Gateway: {MaxRSS: 1}, part.Control: {MaxRSS: 1}}}.around(began).Usage
	if all[part.Gateway].Throttled < time.Second || all[part.Proxy].Throttled+all[part.Control].Throttled != 0 {
		t.Errorf("the parts waited %+v", all)
	}
}

package report

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
)

// One event fails many calls at once. A few rounds show which arm lost how many calls, but not whether the next
// round will be the same.
func TestTheAnswerSaysWhetherLostCallsAreBeyondChance(t *testing.T) {
	w := sampleArms()
	d := small(1, w[0], w[1])
	d.Headline = []string{"failed", "followed"}
	d.Arms[1].Errors = map[string]uint64{"UNAVAILABLE": d.Arms[1].Calls / 50}
	took := 120.0
	d.Events = []result.Event{{Arm: "new-channel", Cell: result.Cell{}, Round: 1, What: "scale 10", Action: result.ActionScale, Count: 10, Took: result.Took{FirstCall: &took}},
		{Arm: "shared", Cell: result.Cell{}, Round: 1, What: "scale 10", Action: result.ActionScale, Count: 10}}
	failed := result.Verdict{Metric: "failed", A: "new-channel", B: "shared", Kind: "baseline", Decision: "undecided", Rounds: 1,
		Reason: "1 round; at least 5 are needed", Cause: &result.Cause{Kind: result.CauseRounds, Have: 1, Needed: 5}}
	d.Verdicts = []result.Verdict{failed}
	const recovered = " When rpclab scaled to 10 backends, new-channel succeeded on a new backend within 120 ms; shared never did."
	want := "shared lost 2.0 % of its calls; new-channel lost none. 1 round cannot tell such differences from chance; 5 can." + recovered
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	quick := d
	finished := d.Started.Add(31 * time.Second)
	quick.Quick, quick.Finished = true, &finished
	if got, want := Answer(quick), strings.Replace(want, "; 5 can.", "; 5 can: --quick --rounds 5 takes about 3 min.", 1); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	d.Rounds = 5
	d.Arms[0].Followed, d.Arms[1].Followed = &result.FollowTime{Trials: 5, MedianMS: &took}, &result.FollowTime{Trials: 5, Never: 5}
	failed.Decision, failed.Cause, failed.PRanks = "better", nil, 0.0079
	failed.Ratio, failed.CI = 0.01, [2]float64{0.009, 0.011}
	followed := verdict("followed", "new-channel", nil, 0.01, 0.009, 0.011, "better", "baseline")
	d.Verdicts = []result.Verdict{failed, followed}
	want = "shared lost 2.0 % of its calls; new-channel lost none. Statistically significant: new-channel loses fewer calls than shared (none against 2.0 %); " +
		"new-channel calls new backends sooner than shared (120.0 ms against never)." + recovered
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := sentenceOf(failed, ""), "new-channel loses fewer calls than shared (p = 0.0079)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	failed.Decision, failed.Cause = "undecided", &result.Cause{Kind: result.CauseInterval}
	d.Verdicts = []result.Verdict{failed}
	if got := Answer(d); !strings.Contains(got, "lost none. These differences between arms may be chance.") {
		t.Errorf("undecided: %s", got)
	}
}

// Arms that lose no call are not compared in lost calls. That answers the question, whatever the events were.
func TestTheAnswerSaysThatNoCallWasLost(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	d.Headline = []string{"failed"}
	if got, want := Answer(d), "No route lost a call."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i := range d.Arms[0].Trials {
		d.Arms[0].Trials[i].Failed = "the server did not start"
	}
	d.Arms[0].Measures = result.Measures{}
	if got, want := Answer(d), "No verdict: no two arms were compared. new-channel gave no measurement"; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s…", got, want)
	}
}

// If the load ended before a rollout was complete, the answer says so.
func TestTheAnswerSaysThatARolloutWasNotComplete(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	called := 120.0
	for _, name := range []string{"new-channel", "shared"} {
		d.Events = append(d.Events, result.Event{Arm: name, Cell: result.Cell{}, Round: 1, What: "roll", Action: result.ActionRoll, Took: result.Took{FirstCall: &called}})
	}
	if got, want := Answer(d), "No route lost a call. When rpclab replaced every backend, new-channel and shared succeeded on a new backend within 120 ms."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	d.Events[0].Unfinished = &result.Unfinished{Done: 2, Of: 3}
	want := "No route lost a call, but the load ended before the rollout was complete in new-channel. " +
		"When rpclab replaced backends, new-channel and shared succeeded on a new backend within 120 ms."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A rollout to a version that does not start is not the fault of a short load, and clients do right to call the old backends.
func TestTheAnswerNamesTheVersionThatDidNotStart(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	lost := "server one-2 at 127.0.0.1:7 did not start: exit status 1; its command, in /y:\n  ./server\nits last lines:\n  starting\n  open nope: no such file or directory"
	for i := range d.Arms {
		a := &d.Arms[i]
		a.Trials[0].Lost = []string{lost, "the rollout of one ended before all backends were replaced: " + lost}
		d.Events = append(d.Events, result.Event{Arm: a.Name, Cell: a.Cell, Round: a.Trials[0].Round, What: "roll to two", Action: result.ActionRoll,
			Affected: []string{"one-0"}, Ready: 1, CalledBefore: new(true), Answered: 9, AnsweredByAffected: 9, Unfinished: &result.Unfinished{Of: 1}})
	}
	did := "server one-2 at 127.0.0.1:7 did not start: exit status 1 (open nope: no such file or directory)"
	if got, want := Answer(d), "No route lost a call, but the rollout was not complete in new-channel and shared: "+did+"."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	p := &page{}
	recoveryTable(p, d, 9)
	if all := recoveries(d); len(all) != 1 || all[0].text("shared") != notComplete || !strings.Contains(p.blocks[len(p.blocks)-1].text, notComplete+": ") {
		t.Errorf("the recoveries are %+v, want %q for shared and its explanation: %+v", all, notComplete, p.blocks)
	}
	d.Arms[0].Trials[0].Lost = nil // its load ended first
	want := "No route lost a call, but the load ended before the rollout was complete in " + d.Arms[0].Name + ", and the rollout was not complete in " + d.Arms[1].Name + ": " + did + "."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Calls that an event would have cost are not lost if rpclab could not perform it.
func TestTheAnswerSaysThatAnEventWasNotPerformed(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	called := 120.0
	for _, name := range []string{"new-channel", "shared"} {
		d.Events = append(d.Events, result.Event{Arm: name, Cell: result.Cell{}, Round: 1, What: "roll", Action: result.ActionRoll, Took: result.Took{FirstCall: &called}},
			result.Event{Arm: name, Cell: result.Cell{}, Round: 1, What: "kill 1", Action: result.ActionKill, Count: 1})
	}
	d.Events[3].Error = "the API refused it"
	if got, want := Answer(d), "No route lost a call, but rpclab could not perform kill 1 in shared. "; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s…", got, want)
	}
}

func withBound(v result.Verdict, bound result.RatioBound) result.Verdict {
	v.Bound = bound
	return v
}

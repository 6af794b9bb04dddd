package report

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestThePolicyOfAnArmIsThatOfItsCell(t *testing.T) {
	d := result.Document{}
	for i, policy := range []string{"round_robin", "least_request"} {
		cell := result.Cell{"policy": policy}
		d.Arms = append(d.Arms, result.Arm{Name: "a", Policy: policy, Cell: cell})
		d.Events = append(d.Events, result.Event{Arm: "a", Cell: cell, Round: 1, What: "slow 1 times 10", Action: result.ActionSlow, Count: 1,
			Affected: []string{"b0"}, Ready: 2 + i, Answered: 100, AnsweredByAffected: 50})
	}
	var text strings.Builder
	p := &page{}
	events(p, d)
	for _, b := range p.blocks {
		text.WriteString(b.text + "\n")
	}
	got := text.String()
	for _, want := range []string{"a at policy = round_robin: round robin gives", "a at policy = least_request: least request picks", "that the affected backends answered. "} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not contain %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "would be fair") { // 50 % in one cell, 33 % in the other
		t.Errorf("the report names one fair share for both cells:\n%s", got)
	}
}

// An arm that continues to call a slow or unreachable backend loses no call before its deadline. That is
// not an arm that was not affected.
func TestAnArmThatDoesNotAvoidABackendIsAffected(t *testing.T) {
	for name, c := range map[string]struct {
		event result.Event
		want  string
	}{
		"it answers slowly":               {result.Event{CalledBefore: new(true), AnsweredByAffected: 50, Late: 50}, never},
		"it does not answer":              {result.Event{CalledBefore: new(true)}, never},
		"the arm has not called it":       {result.Event{CalledBefore: new(false)}, none},
		"an older result, it answers":     {result.Event{AnsweredByAffected: 50}, never},
		"an older result, it answers not": {result.Event{}, none},
	} {
		event := c.event
		event.Arm, event.Round, event.What, event.Action, event.Ready, event.Affected, event.Answered = "a", 1, "cut 1", result.ActionCut, 3, []string{"b0"}, 100
		avoiding := event
		avoiding.Arm, avoiding.Took.Avoided = "b", new(100.0)
		all := recoveries(result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: []result.Event{event, avoiding}})
		if len(all) != 1 || all[0].text("a") != c.want {
			t.Errorf("%s: got %+v, want %q for a", name, all, c.want)
		}
	}
}

// An event that rpclab could not perform, because the load ended before it, says nothing about its arm.
func TestAnEventThatWasNotPerformedIsNoFailureOfTheArm(t *testing.T) {
	scaled := result.Event{Arm: "b", Round: 1, What: "scale 5", Action: result.ActionScale, Count: 5, Ready: 3, Took: result.Took{FirstCall: new(120.0)}}
	failed := scaled
	failed.Arm, failed.Took, failed.Error = "a", result.Took{}, "the load ended before"
	d := result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: []result.Event{failed, scaled}}
	if all := recoveries(d); len(all) != 1 || all[0].text("a") != notPerformed || all[0].text("b") != "120 ms" {
		t.Errorf("the recoveries are %+v, want failed for a and 120 ms for b", all)
	}
	if got := answerOfEvents(d); strings.Contains(got, "never") || !strings.Contains(got, "b succeeded on a new backend within 120 ms") {
		t.Errorf("the answer is %q, want the time of b alone", got)
	}
	d.Events = []result.Event{failed}
	if got := answerOfEvents(d); strings.Contains(got, ", .") || strings.Contains(got, "When") {
		t.Errorf("the answer without any performed event is %q, want no sentence on it", got)
	}
}

// In a sweep, each cell of an arm counts: also if the arm is not affected in the last one, or if nothing is known of it.
func TestARecoveryCountsEveryCell(t *testing.T) {
	cells := []result.Cell{{"load.open.rate": 1}, {"load.open.rate": 2}}
	kill := func(cell int, change func(*result.Event)) result.Event {
		e := result.Event{Arm: "a", Cell: cells[cell], Round: 1, What: "kill 1", Action: result.ActionKill, Count: 1, Ready: 3, Affected: []string{"b0"}, CalledBefore: new(true)}
		change(&e)
		return e
	}
	avoided := func(e *result.Event) { e.Took.Avoided = new(300.0) }
	untouched := func(e *result.Event) { e.CalledBefore = new(false) }
	unknown := func(e *result.Event) { e.BackendsUnknown, e.CalledBefore = true, nil }
	for _, c := range []struct {
		first, second func(*result.Event)
		want          string
	}{
		{avoided, untouched, "300 ms"}, {untouched, avoided, "300 ms"}, {unknown, avoided, notKnown}, {avoided, unknown, notKnown},
	} {
		d := result.Document{Events: []result.Event{kill(0, c.first), kill(1, c.second)}}
		for _, cell := range cells {
			d.Arms = append(d.Arms, result.Arm{Name: "a", Cell: cell})
		}
		all := recoveries(d)
		if len(all) != 1 || all[0].text("a") != c.want {
			t.Errorf("the recoveries are %+v, want %q for a", all, c.want)
		}
		if got := answerOfEvents(d); strings.Contains(got, ", .") {
			t.Errorf("the answer has an empty clause: %q", got)
		}
	}
}

// A client that needed no new backend has no time until it called one: neither a time nor "never".
func TestAClientThatNeededNoNewBackendHasNoFirstCall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*result.Event)
		want   string
	}{
		"it called the backend all the time": {func(e *result.Event) { e.CalledUnready = true }, none},
		"it did not call the killed backend": {func(e *result.Event) { e.CalledBefore = new(false) }, none},
		"the same, and other calls failed":   {func(e *result.Event) { e.CalledBefore, e.Failed = new(false), 2 }, none},
		"it did not, and called the new one": {func(e *result.Event) { e.CalledBefore, e.Took.FirstCall = new(false), new(500.0) }, "500 ms"},
		"it did not find the new one":        {func(*result.Event) {}, never},
	} {
		follows := result.Event{Arm: "b", Round: 1, What: "recover", Action: result.ActionRecover, Added: 1, Took: result.Took{FirstCall: new(400.0)}}
		stays := result.Event{Arm: "a", Round: 1, What: "recover", Action: result.ActionRecover, Added: 1}
		c.change(&stays)
		d := result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: []result.Event{stays, follows}}
		all := recoveries(d)
		if len(all) != 1 || all[0].text("a") != c.want {
			t.Errorf("%s: the recoveries are %+v, want %q for a", name, all, c.want)
		}
		p := &page{}
		events(p, d)
		text := ""
		for _, b := range p.blocks {
			text += b.text
		}
		if got, want := strings.Contains(text, "or the client called it while it was not ready"), stays.CalledUnready; got != want {
			t.Errorf("%s: the reason is there: %v, want %v:\n%s", name, got, want, text)
		}
	}
}

// If rpclab performed no event at all, the run answers another question than the one asked.
func TestTheAnswerNamesEventsNeverPerformed(t *testing.T) {
	d := small(5, sampleArms()[0])
	late := "the load ended before the event"
	d.Events = []result.Event{{Arm: "shared", Round: 1, What: "kill 1", Action: result.ActionKill, Error: late}, {Arm: "shared", Round: 2, What: "kill 1", Action: result.ActionKill, Error: late}}
	want := "958 calls/s: p50 702.4 ms, p99 981.2 ms, 0 of 1,000 calls failed. But rpclab could not perform kill 1 in shared."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A load that ends within a second of an event does not show that an arm never stopped calling the affected backends.
func TestTooLittleTimeAfterAnEventIsNoFailureOfTheArm(t *testing.T) {
	kill := result.Event{Arm: "a", Round: 1, What: "kill 1", Action: result.ActionKill, Count: 1, Ready: 2, Affected: []string{"b0"}, CalledBefore: new(true), AvoidedUnknown: true, Failed: 1}
	d := result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: []result.Event{kill}}
	avoiding := kill
	avoiding.Arm, avoiding.AvoidedUnknown, avoiding.Took.Avoided = "b", false, new(100.0)
	for _, events := range [][]result.Event{{kill}, {kill, avoiding}} {
		d.Events = events
		p := &page{}
		recoveryTable(p, d, 9)
		if all := recoveries(d); len(all) != 1 || all[0].text("a") != tooShort || !strings.Contains(p.blocks[len(p.blocks)-1].text, tooShort+": the next event") {
			t.Errorf("the recoveries are %+v, want %q for a and its explanation: %+v", all, tooShort, p.blocks)
		}
		if got := answerOfEvents(d); strings.Contains(got, "never") || strings.Contains(got, "a stopped") {
			t.Errorf("the answer is %q, want nothing about whether a stopped calling the backend", got)
		}
	}
}

// The result in which no arm recovers from an event must not read better than the one in which some do.
func TestAnEventFromWhichNoArmRecoversIsShown(t *testing.T) {
	arms := []result.Arm{{Name: "a"}, {Name: "b"}}
	of := func(e result.Event) (all []result.Event) {
		for _, a := range arms {
			e.Arm, e.Round = a.Name, 1
			all = append(all, e)
		}
		return all
	}
	hit := []string{"b0"}
	for name, c := range map[string]struct {
		event result.Event
		want  string // of both arms; "": no column
		says  string
	}{
		"backends added": {result.Event{What: "scale 5", Action: result.ActionScale, Count: 5, Added: 2}, never,
			"When rpclab scaled to 5 backends, a and b never succeeded on a new backend."},
		"backends replaced": {result.Event{What: "roll", Action: result.ActionRoll, Affected: hit, Ready: 2, Added: 2}, never,
			"a and b never succeeded on a new backend."},
		"backends removed": {result.Event{What: "scale 1", Action: result.ActionScale, Count: 1, Affected: hit, CalledBefore: new(true)}, never,
			"a and b never stopped calling the affected backends."},
		"a backend killed": {result.Event{What: "kill 1", Action: result.ActionKill, Count: 1, Affected: hit, CalledBefore: new(true), Failed: 9, Added: 1}, never,
			"a and b never stopped calling it."},
		"a proxy killed": {result.Event{What: "kill proxy", Action: result.ActionKillProxy, Failed: 9}, never,
			"a and b never received responses again."},
		"a killed backend that no arm called": {result.Event{What: "kill 1", Action: result.ActionKill, Affected: hit, CalledBefore: new(false), Added: 1}, "", ""},
		"a killed proxy that cost no call":    {result.Event{What: "kill proxy", Action: result.ActionKillProxy}, "", ""},
		"no new backend was ready":            {result.Event{What: "scale 5", Action: result.ActionScale, Count: 5, Failed: 9}, "", ""},
		"it is not known who answered":        {result.Event{What: "scale 5", Action: result.ActionScale, Count: 5, Added: 2, BackendsUnknown: true}, "", ""},
		"backends stay, but are slow":         {result.Event{What: "slow 1", Action: result.ActionSlow, Affected: hit, CalledBefore: new(true)}, "", ""},
	} {
		d := result.Document{Arms: arms, Events: of(c.event)}
		all := recoveries(d)
		if c.want == "" {
			if len(all) > 0 {
				t.Errorf("%s: the recoveries are %+v, want none", name, all)
			}
			continue
		}
		if len(all) != 1 || all[0].text("a") != c.want || all[0].text("b") != c.want {
			t.Errorf("%s: the recoveries are %+v, want %s for both arms", name, all, c.want)
		}
		if got := answerOfEvents(d); !strings.HasSuffix(got, c.says) {
			t.Errorf("%s: the answer is %q, want it to end in %q", name, got, c.says)
		}
	}
}

// Backends whose connections are reset stay in service, so the time after a reset is that of the last lost call. A report
// that says that clients stopped calling them is wrong.
func TestAfterAResetTheReportSaysWhenNoMoreCallsWereLost(t *testing.T) {
	event := func(arm, what string, action result.Action, resets bool, took *float64, failed uint64) result.Event {
		return result.Event{Arm: arm, Round: 1, What: what, Action: action, Count: 1, Resets: resets, Affected: []string{"b0"}, Ready: 3,
			CalledBefore: new(true), Answered: 90, AnsweredByAffected: 30, Failed: failed, Took: result.Took{Avoided: took}}
	}
	for name, c := range map[string]struct {
		events []result.Event
		want   []string
	}{
		"some recover": {[]result.Event{event("a", "cut 1 by reset", result.ActionCut, true, new(100.0), 9), event("b", "cut 1 by reset", result.ActionCut, true, nil, 9)},
			[]string{" After cut 1 by reset, a lost no more calls after 100 ms; b had no whole second without lost calls before the next event or the end.", "Time until no more calls were lost (cut 1 by reset). never: not before the next event or end."}},
		"none recovers": {[]result.Event{event("a", "cut 1 by reset", result.ActionCut, true, nil, 9), event("b", "cut 1 by reset", result.ActionCut, true, nil, 9)},
			[]string{" After cut 1 by reset, a and b had no whole second without lost calls before the next event or the end."}},
		"the next event is soon, and one lost none": {[]result.Event{event("a", "cut 1 by reset", result.ActionCut, true, nil, 9), event("b", "cut 1 by reset", result.ActionCut, true, nil, 0)},
			[]string{" After cut 1 by reset, a had no whole second without lost calls before the next event or the end.", none + ": not affected."}},
		"a kill follows": {[]result.Event{event("a", "cut 1 by reset", result.ActionCut, true, new(100.0), 9), event("a", "kill 1", result.ActionKill, false, new(300.0), 9)},
			[]string{" After cut 1 by reset, a lost no more calls after 100 ms. When rpclab killed 1 backend, a stopped calling it within 300 ms.",
				"Time until no more calls were lost (cut 1 by reset) or no call to affected backends (kill 1).",
				"avoided: when callers began to avoid the affected backends, for 1 s or more. no loss: from when no call was lost, for 1 s or more"}},
	} {
		d := result.Document{Arms: []result.Arm{{Name: "a"}, {Name: "b"}}, Events: c.events}
		for i := range d.Events {
			d.Events[i].AtMS = float64(1000 * i)
		}
		p := &page{}
		events(p, d)
		text := answerOfEvents(d)
		for _, b := range p.blocks {
			text += "\n" + b.text
			for _, column := range columnsOf(b) {
				text += "\n" + column.name
			}
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the report does not contain %q:\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "avoided") != (name == "a kill follows") || !strings.Contains(text, "no loss") {
			t.Errorf("%s: the columns are wrong:\n%s", name, text)
		}
	}
}

func columnsOf(b block) []column {
	if b.table == nil {
		return nil
	}
	return b.table.columns
}

// A retry or a hedge gets a response from another backend, but the affected backend receives calls as before.
func TestAnArmThatSendsCallsAgainIsNotSaidToStopCalling(t *testing.T) {
	caller := func(key string) map[string]any {
		return map[string]any{"caller": map[string]any{key: map[string]any{}}}
	}
	d := result.Document{Arms: []result.Arm{{Name: "plain"}, {Name: "quick"}, {Name: "hedge", Config: caller("hedge")}, {Name: "retry", Config: caller("retry")}}}
	for name, took := range map[string]*float64{"plain": nil, "quick": new(300.0), "hedge": new(100.0), "retry": new(200.0)} {
		d.Events = append(d.Events, result.Event{Arm: name, Round: 1, What: "cut 1 by blackhole", Action: result.ActionCut, Count: 1, Affected: []string{"b0"}, Ready: 3,
			CalledBefore: new(true), Answered: 90, AnsweredByAffected: 3, Took: result.Took{Avoided: took}})
	}
	p := &page{}
	events(p, d)
	text := answerOfEvents(d)
	for _, b := range p.blocks {
		text += "\n" + b.text
	}
	for _, want := range []string{
		" After cut 1 by blackhole, quick stopped calling the affected backends within 300 ms; plain never did; " +
			"hedge and retry received responses from other backends within 200 ms, but may still call the affected ones.",
		"Time until no call to affected backends (cut 1 by blackhole; in hedge and retry, until responses came from other backends). never",
		"avoided: when callers began to avoid the affected backends, for 1 s or more; in hedge and retry, where callers send calls again, when responses came from other backends",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
	d.Arms, d.Events = d.Arms[2:3], slices.DeleteFunc(d.Events, func(e result.Event) bool { return e.Arm != "hedge" })
	if got, want := answerOfEvents(d), " After cut 1 by blackhole, hedge received responses from other backends within 100 ms, but may still call the affected ones."; !strings.HasSuffix(got, want) {
		t.Errorf("the answer is %q, want it to end in %q", got, want)
	}
	d.Events[0].Took.Avoided = nil
	if got, want := answerOfEvents(d), " After cut 1 by blackhole, hedge never stopped calling the affected backends."; !strings.HasSuffix(got, want) {
		t.Errorf("the answer is %q, want it to end in %q", got, want)
	}
}

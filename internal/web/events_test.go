package web

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// follower reads server-sent events as a browser does.
type follower struct {
	lines *bufio.Scanner
	stop  func()
	id    string
}

func (s *testServer) follow(t *testing.T, last string) *follower {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/live/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the events have status %d and the header %v, want 200 and text/event-stream", response.StatusCode, response.Header)
	}
	f := &follower{lines: bufio.NewScanner(response.Body), stop: func() { stop(); response.Body.Close() }}
	t.Cleanup(f.stop)
	return f
}

// next returns the next state; more is false when the connection has ended.
func (f *follower) next(t *testing.T) (state State, more bool) {
	t.Helper()
	for f.lines.Scan() {
		field, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch field {
		case "id":
			f.id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &state); err != nil {
				t.Fatal(err)
			}
			return state, true
		}
	}
	return state, false
}

// until reads states until one is as wanted, and returns all of them.
func (f *follower) until(t *testing.T, wanted func(State) bool) (all []State) {
	t.Helper()
	for {
		state, more := f.next(t)
		if !more || state.Phase == "failed" {
			t.Fatalf("the events ended (more: %v) with %+v before the wanted state", more, state)
		}
		if all = append(all, state); wanted(state) {
			return all
		}
	}
}

func trial(order int) lab.Progress {
	return lab.Progress{Trial: experiment.Trial{Order: order, Round: order/2 + 1, Arm: []string{"one", "two"}[order%2]}, Planned: 4, Left: time.Minute}
}

func liveSecond(order int, at time.Duration) lab.Progress {
	p := trial(order)
	p.Live = &lab.Live{Elapsed: at, Rate: 100, P50: time.Millisecond, P99: 2 * time.Millisecond, Failed: 1,
		Backends: map[string]uint64{"a": 60, "b": 39}, Errors: map[string]uint64{"UNAVAILABLE": 1}}
	return p
}

func endOf(order int) lab.Progress {
	p := trial(order)
	p.Ended = &result.Trial{Round: p.Trial.Round, Order: order, Measures: result.Measures{Calls: 10, Rate: 5, ElapsedMS: 2000, Backends: map[string]uint64{"a": 10}}}
	return p
}

func TestARunIsStreamedFromStartToEnd(t *testing.T) {
	s := serve(t, nil)
	f := s.follow(t, "")
	if state, _ := f.next(t); state.Phase != "idle" || state.Run != nil {
		t.Errorf("before the run the state is %+v, want idle and no run", state)
	}
	id := s.begin(t)
	s.steps <- trial(0)
	s.steps <- liveSecond(0, time.Second)
	event := trial(0)
	event.Event = &result.Event{AtMS: 1500, What: "kill 1", Affected: []string{"a"}}
	s.steps <- event
	s.steps <- liveSecond(0, 2*time.Second)
	seen := f.until(t, func(state State) bool { return state.Now != nil && state.Now.Backends["a"] == 120 })
	now := seen[len(seen)-1]
	if now.Run.ID != id || now.Run.Planned != 4 || now.Now.Arm != "one" || now.Now.Errors["UNAVAILABLE"] != 2 || *now.LeftS != 60 ||
		len(now.Now.Events) != 1 || now.Now.Events[0].What != "kill 1" {
		t.Errorf("after two seconds the state is %+v %+v, want run %s, arm one, 2 errors, 60 s left and the event kill 1", now, now.Now, id)
	}
	seconds := 0
	for _, state := range seen {
		seconds += len(state.Seconds)
	}
	if seconds != 2 {
		t.Errorf("received %d seconds, want each of the 2 once", seconds)
	}
	s.steps <- endOf(0)
	s.steps <- trial(1)
	s.steps <- endOf(1)
	close(s.steps)
	seen = f.until(t, func(state State) bool { return state.Phase == "done" })
	last := seen[len(seen)-1]
	if last.Done != 2 || last.LeftS != nil || last.Answer == "" {
		t.Errorf("at the end the state is %+v, want 2 trials done and an answer", last)
	}
}

func TestATrialShowsTheShareOfItsLostCalls(t *testing.T) {
	p := endOf(0)
	p.Ended.Latency = result.Histogram{P50: 1, P99: 60000, Lost: 0.02}
	if got := newFinishedTrial(p); *got.P50 != 1 || *got.P99 != 60000 || got.Lost != 0.02 {
		t.Errorf("the trial is %+v, want the percentiles of all calls and the share of those lost", got)
	}
}

// The time of a trial continues over the loads of a search, and of arms that take turns.
func TestSecondsOfSeveralLoadsFollowEachOther(t *testing.T) {
	l := newLive()
	l.Begin(experiment.Plan{Name: "small"}, "id")
	l.Show(trial(0))
	for _, now := range []lab.Live{
		{Load: 1, Elapsed: time.Second, Failed: 1}, {Load: 1, Elapsed: 2 * time.Second, Failed: 2},
		{Load: 2, Elapsed: 1001 * time.Millisecond, Failed: 1}, // the first second of a load may be longer than that of the load before
		{Arm: "two", Load: 1, Elapsed: 1500 * time.Millisecond, Failed: 1},
	} {
		p := trial(0)
		p.Live = &now
		l.Show(p)
	}
	state, seen, _ := l.after(cursor{})
	var at []float64
	for _, s := range state.Seconds {
		at = append(at, s.At)
	}
	if want := []float64{1, 2, 3.001, 4.501}; !slices.EqualFunc(at, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) || state.Seconds[3].Failed != 4 {
		t.Errorf("the seconds are at %v and %d calls failed, want %v and 4", at, state.Seconds[3].Failed, want)
	}
	l.Show(trial(0)) // begins once more, as on a search over several rounds
	for i := range 5 {
		l.Show(liveSecond(0, time.Duration(i+1)*time.Second))
	}
	if state, _, _ := l.after(seen); state.FromSecond != 0 || len(state.Seconds) != 5 {
		t.Errorf("a client that has 4 seconds of the load before receives seconds from %d, want all", state.FromSecond)
	}
}

// The loads of the arms of a cycle begin at the same time, though not to the millisecond. Their seconds went back in time.
func TestSecondsSideBySideHaveTheTimeOfTheirCycle(t *testing.T) {
	l := newLive()
	l.Begin(experiment.Plan{Name: "small", Design: experiment.SideBySide}, "id")
	l.Show(trial(0))
	for _, now := range []lab.Live{
		{Arm: "one", Load: 1, Elapsed: time.Second, Failed: 1}, {Arm: "two", Load: 1, Elapsed: 1003 * time.Millisecond, Failed: 2},
		{Arm: "two", Load: 1, Elapsed: 2 * time.Second, Failed: 2}, {Arm: "one", Load: 1, Elapsed: 1998 * time.Millisecond, Failed: 1},
		{Arm: "two", Load: 2, Elapsed: time.Second, Failed: 1}, {Arm: "one", Load: 2, Elapsed: 1001 * time.Millisecond, Failed: 1}, // the next cycle
		{Arm: "one", Load: 3, Elapsed: time.Second}, {Arm: "one", Load: 4, Elapsed: time.Second, Failed: 1}, // the other arm has failed
	} {
		p := trial(0)
		p.Live = &now
		l.Show(p)
	}
	state, _, _ := l.after(cursor{})
	want := []second{{At: 1, Arm: "one", Failed: 1}, {At: 1.003, Arm: "two", Failed: 3}, {At: 2, Arm: "two", Failed: 3}, {At: 2, Arm: "one", Failed: 3},
		{At: 3, Arm: "two", Failed: 4}, {At: 3.001, Arm: "one", Failed: 5}, {At: 4.001, Arm: "one", Failed: 5}, {At: 5.001, Arm: "one", Failed: 6}}
	if !slices.EqualFunc(state.Seconds, want, func(a, b second) bool { return math.Abs(a.At-b.At) < 1e-9 && a.Arm == b.Arm && a.Failed == b.Failed }) {
		t.Errorf("the seconds are %+v, want %+v", state.Seconds, want)
	}
}

// The server sends at most two states a second, whatever the number of progress reports. Each state
// has all that happened since the last.
func TestProgressIsSentInBatches(t *testing.T) {
	s := serve(t, nil)
	s.begin(t)
	f := s.follow(t, "")
	began := time.Now()
	s.steps <- trial(0)
	for i := range 1000 {
		s.steps <- liveSecond(0, time.Duration(i)*time.Second)
	}
	sent := 0
	states := f.until(t, func(state State) bool { sent += len(state.Seconds); return sent == 1000 })
	if most := 2 + int(time.Since(began)/updateInterval); len(states) > most {
		t.Errorf("received %d states in %v, want at most %d", len(states), time.Since(began), most)
	}
}

// A client that reconnects sends the id of its last event, and receives only what is new.
func TestAReconnectedClientReceivesOnlyWhatIsNew(t *testing.T) {
	s := serve(t, nil)
	s.begin(t)
	f := s.follow(t, "")
	s.steps <- trial(0)
	s.steps <- endOf(0)
	s.steps <- trial(1)
	s.steps <- liveSecond(1, time.Second)
	f.until(t, func(state State) bool { return state.Now != nil && state.Now.Backends["b"] == 39 })
	f.stop()
	s.steps <- liveSecond(1, 2*time.Second)
	s.steps <- endOf(1)
	testkit.Await(t, "both trials have ended", func() bool { return s.state(t).Done == 2 })
	again, _ := s.follow(t, f.id).next(t)
	if again.FromTrial != 1 || len(again.Trials) != 1 || again.Trials[0].Arm != "two" || again.FromSecond != 1 || len(again.Seconds) != 1 {
		t.Errorf("after %s the client received %+v, want trial 1 and second 1", f.id, again)
	}
	for _, unknown := range []string{"another-run/1/1/1", "nonsense", s.state(t).Run.ID + "/99/1/1", s.state(t).Run.ID + "/-1/1/-1", "/0/0/0"} {
		if all, _ := s.follow(t, unknown).next(t); all.FromTrial != 0 || len(all.Trials) != 2 || all.FromSecond != 0 {
			t.Errorf("after the unknown id %s the client received %+v, want the whole state", unknown, all)
		}
	}
	other := serve(t, nil) // the server was started again
	if state, _ := other.follow(t, f.id).next(t); state.Phase != "idle" {
		t.Errorf("a restarted server sent %+v, want idle", state)
	}
}

func TestWatchersReceiveTheLastStateBeforeTheServerStops(t *testing.T) {
	s := serve(t, nil)
	s.begin(t)
	f := s.follow(t, "")
	s.steps <- trial(0)
	f.until(t, func(state State) bool { return state.Now != nil })
	s.Close()
	last := State{}
	for state, more := f.next(t); more; state, more = f.next(t) {
		last = state
	}
	if last.Phase != "partial" {
		t.Errorf("the last state is %+v, want partial", last)
	}
}

func TestTheNumberOfWatchersIsLimited(t *testing.T) {
	s := serve(t, nil)
	for range maxFollowers {
		s.follow(t, "")
	}
	if status, _ := s.request(t, http.MethodGet, "/api/v1/live/events", "", nil); status != http.StatusServiceUnavailable {
		t.Errorf("one follower more than the limit gets status %d, want 503", status)
	}
	s.Close()
	testkit.Await(t, "no followers are left", func() bool { return followers.Load() == 0 })
}

// Nothing is stored of a run that is stopped while its servers are built.
func TestARunStoppedBeforeItsFirstTrialHasNoAnswer(t *testing.T) {
	l := newLive()
	l.Begin(experiment.Plan{Name: "small"}, "20261127-000000-aaaa")
	l.End(result.Document{}, context.Canceled)
	if s, _, _ := l.after(cursor{}); s.Phase != "partial" || s.Answer != "" || !strings.Contains(s.Why, "nothing was measured") {
		t.Errorf("the state is %s, %q, %q; want partial, without an answer, and that nothing was measured", s.Phase, s.Answer, s.Why)
	}
}

// The page shows every verdict that the answer names: also against the arm that an arm names. Where a ratio says nothing it
// shows the values.
func TestThePageShowsTheVerdictsBehindTheAnswer(t *testing.T) {
	arm := func(name string, failed uint64) result.Arm {
		return result.Arm{Name: name, Measures: result.Measures{Calls: 100, Errors: map[string]uint64{"UNAVAILABLE": failed}}}
	}
	d := result.Document{ID: "20261128-000000-aaaa", Baseline: "direct", Headline: []string{"failed", "latency_p50"}, Rounds: 5,
		Arms: []result.Arm{arm("direct", 0), arm("mesh", 64), arm("control", 0)}}
	for _, v := range []result.Verdict{
		{Metric: "latency_p50", B: "direct", Kind: result.OfAgainst, Ratio: 2, CI: [2]float64{1.9, 2.1}, Decision: "worse"},
		{Metric: "failed", B: "direct", Kind: result.OfBaseline, Ratio: 129, CI: [2]float64{120, 130}, Decision: "worse"},
		{Metric: "latency_p50", B: "direct", Kind: result.OfControl, Ratio: 1, Decision: "equivalent"},
		{Metric: "client_cpu", B: "direct", Kind: result.OfBaseline, Ratio: 1, Decision: "equivalent", Secondary: true},
	} {
		v.A = "mesh"
		d.Verdicts = append(d.Verdicts, v)
	}
	l := newLive()
	l.End(d, nil)
	var got [][2]string
	for _, v := range l.state.Verdicts {
		got = append(got, [2]string{v.Metric, v.Values})
	}
	if want := [][2]string{{"latency_p50", ""}, {"failed", "64 % against none"}}; !slices.Equal(got, want) {
		t.Errorf("the page has the verdicts %q, want %q", got, want)
	}
}

package otlp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// recorded makes spans of a plan. Each step takes a second.
type recorded struct {
	*spans
	now time.Time
}

func (r *recorded) progress(p lab.Progress) {
	r.now = r.now.Add(time.Second)
	r.show(p, r.now)
}

func (r *recorded) did(name string, t experiment.Trial, err error) {
	began := r.now
	r.now = r.now.Add(time.Second)
	r.phase(lab.Phase{Name: name, Trial: t, Began: began, Ended: r.now, Err: err})
}

// tree returns the spans as lines, each below its parent.
func tree(all []*trace.Span) (lines []string) {
	var below func(parent []byte, indent string)
	below = func(parent []byte, indent string) {
		for _, s := range all {
			if string(s.ParentSpanId) != string(parent) {
				continue
			}
			line := indent + s.Name
			for _, a := range s.Attributes {
				if slices.Contains([]string{"rpclab.arm", "rpclab.round", "rpclab.cell", "rpclab.event", "rpclab.calls"}, a.Key) {
					line += fmt.Sprintf(" %s=%s", strings.TrimPrefix(a.Key, "rpclab."), a.Value.GetStringValue())
					if n := a.Value.GetIntValue(); n != 0 {
						line += fmt.Sprint(n)
					}
				}
			}
			if s.Status != nil {
				line += ": " + s.Status.Message
			}
			lines = append(lines, line)
			below(s.SpanId, indent+"  ")
		}
	}
	below(nil, "")
	return lines
}

func TestSpansOfArmsInIsolation(t *testing.T) {
	t.Parallel()
	plan := experiment.Plan{Name: "small", Design: experiment.Isolated, Arms: []experiment.Arm{{Name: "one"}, {Name: "two"}}}
	r := recorded{newSpans(plan, "id"), time.Now()}
	r.did(lab.PhasePrepare, experiment.Trial{}, nil)
	one, two := experiment.Trial{Round: 1, Arm: "one"}, experiment.Trial{Order: 1, Round: 2, Arm: "two"}
	r.progress(lab.Progress{Trial: one, Doing: "building programs"}) // before the first round
	r.progress(lab.Progress{Trial: one})
	r.did(lab.PhaseStartServers, one, nil)
	r.phase(lab.Phase{Name: lab.PhaseEvent, Trial: one, Event: &result.Event{What: "kill 1", Action: result.ActionKill}, Began: r.now, Ended: r.now, Err: errors.New("no backend")})
	r.did(lab.PhaseLoad, one, nil)
	r.progress(lab.Progress{Trial: one, Ended: &result.Trial{Measures: result.Measures{Calls: 5}}})
	r.progress(lab.Progress{Trial: two})
	r.did(lab.PhaseStopServers, one, nil) // those of the trial before
	r.did(lab.PhaseWarmUp, two, errors.New("a caller died"))
	r.endRun(r.now, "interrupted")
	got := tree(r.take())
	want := []string{
		"run small: interrupted",
		"  prepare",
		"  round round=1",
		"    trial arm=one round=1 calls=5",
		"      start servers arm=one round=1",
		"      kill arm=one round=1 event=kill 1: no backend",
		"      load arm=one round=1",
		"  stop servers arm=one round=1",
		"  round round=2",
		"    trial arm=two round=2: the run ended first",
		"      warm up arm=two round=2: a caller died",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the spans differ (-want +got):\n%s", diff)
	}
	if again := r.take(); len(again) > 0 {
		t.Errorf("%d spans are sent twice", len(again))
	}
}

func TestTextsOfProcessesAreUTF8(t *testing.T) {
	t.Parallel()
	r := recorded{newSpans(experiment.Plan{Arms: []experiment.Arm{{Name: "one"}}}, "id"), time.Now()}
	one := experiment.Trial{Round: 1, Arm: "one"}
	r.progress(lab.Progress{Trial: one})
	r.phase(lab.Phase{Name: lab.PhaseEvent, Trial: one, Event: &result.Event{What: "f\xfcr"}, Began: r.now, Ended: r.now})
	r.progress(lab.Progress{Trial: one, Ended: &result.Trial{Failed: "f\xfcr"}})
	for _, span := range r.take() {
		if _, err := proto.Marshal(span); err != nil {
			t.Errorf("the span %s: %v", span.Name, err)
		}
	}
}

func TestErrorsOfSpansHaveNoPaths(t *testing.T) {
	t.Parallel()
	r := recorded{newSpans(experiment.Plan{Arms: []experiment.Arm{{Name: "one"}}}, "id"), time.Now()}
	one := experiment.Trial{Round: 1, Arm: "one"}
	const failed = "cannot start /home/somebody/orders: no such file"
	r.progress(lab.Progress{Trial: one})
	r.did(lab.PhaseLoad, one, errors.New(failed))
	r.progress(lab.Progress{Trial: one, Ended: &result.Trial{Failed: failed}})
	r.endRun(r.now, failed)
	messages := 0
	for _, span := range r.take() {
		if span.Status == nil {
			continue
		}
		messages++
		if want := "cannot start …/orders: no such file"; span.Status.Message != want {
			t.Errorf("the span %s failed with %q, want %q", span.Name, span.Status.Message, want)
		}
	}
	if messages != 3 {
		t.Errorf("%d spans failed, want the load, its trial and the run", messages)
	}
}

func TestSpansOfArmsInTurns(t *testing.T) {
	t.Parallel()
	plan := experiment.Plan{Name: "small", Design: experiment.Interleaved, Arms: []experiment.Arm{{Name: "one"}, {Name: "two"}}}
	r := recorded{newSpans(plan, "id"), time.Now()}
	for i, size := range []int{1, 2} {
		cell := map[string]any{"size": size}
		one, two := experiment.Trial{Order: 2 * i, Round: 1, Arm: "one", Cell: cell}, experiment.Trial{Order: 2*i + 1, Round: 1, Arm: "two", Cell: cell}
		together := one
		together.Arm = "all arms in turns"
		r.progress(lab.Progress{Trial: together})
		r.progress(lab.Progress{Trial: one, Doing: "starting"})
		r.did(lab.PhaseStartServers, one, nil)
		r.did(lab.PhaseLoad, two, nil)
		r.did(lab.PhaseLoad, one, nil)
		r.progress(lab.Progress{Trial: one, Ended: &result.Trial{}})
		r.progress(lab.Progress{Trial: two, Ended: &result.Trial{Failed: "a server died"}})
		r.did(lab.PhaseStopServers, two, nil)
	}
	r.endRun(r.now, "")
	var want []string
	for _, cell := range []string{"size=1", "size=2"} {
		for _, line := range []string{
			"  round cell=CELL round=1",
			"    trial cell=CELL arm=one round=1 calls=",
			"      start servers cell=CELL arm=one round=1",
			"      load cell=CELL arm=one round=1",
			"    trial cell=CELL arm=two round=1: a server died",
			"      load cell=CELL arm=two round=1",
			"  stop servers cell=CELL arm=two round=1",
		} {
			want = append(want, strings.ReplaceAll(line, "CELL", cell))
		}
	}
	got := tree(r.take())
	slices.Sort(want)
	if got = slices.Sorted(slices.Values(got[1:])); !slices.Equal(got, want) {
		t.Errorf("the spans differ (-want +got):\n%s", cmp.Diff(want, got))
	}
}

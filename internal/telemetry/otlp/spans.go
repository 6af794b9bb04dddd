package otlp

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// spans are those of a run: the run has rounds, a round has trials, and a trial has phases.
type spans struct {
	plan     experiment.Plan
	trace    []byte // ID
	run      *trace.Span
	round    *trace.Span         // nil: none has begun
	roundKey string              // of round
	trials   map[int]*trace.Span // that have begun, by their order; nil: it has ended
	ended    []*trace.Span       // not taken so far
}

func newSpans(plan experiment.Plan, id string) *spans {
	s := &spans{plan: plan, trace: random(16), trials: map[int]*trace.Span{}}
	s.run = s.begin(nil, "run "+plan.Name, time.Now(),
		text("rpclab.run", id), text("rpclab.experiment", plan.Name), text("rpclab.question", plan.Question), text("rpclab.design", plan.Design))
	return s
}

func random(bytes int) []byte {
	id := make([]byte, bytes)
	_, _ = rand.Read(id) // it never fails
	return id
}

// begin returns a span that has begun. The parent is nil for the run.
func (s *spans) begin(parent *trace.Span, name string, at time.Time, attributes ...*common.KeyValue) *trace.Span {
	span := &trace.Span{TraceId: s.trace, SpanId: random(8), Name: name, Kind: trace.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: uint64(at.UnixNano()), Attributes: attributes}
	if parent != nil {
		span.ParentSpanId = parent.SpanId
	}
	return span
}

// end ends a span, with an error if failed says why. An error may have the log of a process, with paths of the user's files.
func (s *spans) end(span *trace.Span, at time.Time, failed string) {
	span.EndTimeUnixNano = uint64(at.UnixNano())
	if failed != "" {
		span.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: valid(result.ShortenPaths(failed))}
	}
	s.ended = append(s.ended, span)
}

// show begins and ends rounds and trials.
func (s *spans) show(p lab.Progress, now time.Time) {
	switch {
	case p.Ended != nil:
		span := s.trial(p.Trial, now)
		if span == nil {
			return
		}
		span.Attributes = append(span.Attributes, figures(*p.Ended)...)
		s.end(span, now, p.Ended.Failed)
		s.trials[p.Trial.Order] = nil
	case p.Doing == "" && p.Live == nil && p.Event == nil: // a trial begins, or a round whose arms take turns
		s.beginRound(p.Trial, now)
		if s.isArm(p.Trial.Arm) {
			s.trial(p.Trial, now)
		}
	}
}

// beginRound ends the round before, if the trial is of another one. Where arms take turns, each cell has rounds of its own.
func (s *spans) beginRound(t experiment.Trial, now time.Time) {
	key := fmt.Sprint(t.Round)
	var cell []*common.KeyValue
	if s.plan.Design != "" && s.plan.Design != experiment.Isolated {
		key += fmt.Sprint(" ", t.Group, " ", result.Cell(t.Cell).Key())
		cell = ofCell(t.Cell)
	}
	if key == s.roundKey {
		return
	}
	s.endRound(now)
	s.roundKey = key
	s.round = s.begin(s.run, "round", now, append(cell, number("rpclab.round", int64(t.Round)))...)
}

func (s *spans) endRound(now time.Time) {
	if s.round != nil {
		s.end(s.round, now, "")
	}
}

func (s *spans) isArm(name string) bool {
	return slices.ContainsFunc(s.plan.Arms, func(a experiment.Arm) bool { return a.Name == name })
}

// trial returns the span of a trial, which begins at a time unless it has begun; nil: it has ended, or no round has begun.
func (s *spans) trial(t experiment.Trial, at time.Time) *trace.Span {
	if span, begun := s.trials[t.Order]; begun || s.round == nil {
		return span
	}
	span := s.begin(s.round, "trial", at, ofTrial(t)...)
	s.trials[t.Order] = span
	return span
}

// phase adds a phase to its trial, or to the run if the trial has ended, or the phase has none.
func (s *spans) phase(p lab.Phase) {
	parent, attributes := s.run, []*common.KeyValue(nil)
	name := p.Name
	if s.isArm(p.Trial.Arm) {
		attributes = ofTrial(p.Trial)
		if span := s.trial(p.Trial, p.Began); span != nil {
			parent = span
		}
	}
	if p.Event != nil {
		name = string(p.Event.Action)
		attributes = append(attributes, text("rpclab.event", p.Event.What), number("rpclab.backends", int64(len(p.Event.Affected))))
	}
	failed := ""
	if p.Err != nil {
		failed = p.Err.Error()
	}
	s.end(s.begin(parent, name, p.Began, attributes...), p.Ended, failed)
}

// endRun ends the run, and what has not ended because of an error.
func (s *spans) endRun(now time.Time, failed string, attributes ...*common.KeyValue) {
	for _, order := range slices.Sorted(maps.Keys(s.trials)) {
		if span := s.trials[order]; span != nil {
			s.end(span, now, "the run ended first")
		}
	}
	s.endRound(now)
	s.run.Attributes = append(s.run.Attributes, attributes...)
	s.end(s.run, now, failed)
}

// take returns the spans that have ended since the last call.
func (s *spans) take() (ended []*trace.Span) {
	ended, s.ended = s.ended, nil
	return ended
}

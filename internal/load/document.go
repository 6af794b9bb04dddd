package load

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Experiment is the experiment's name in results of loads.
const Experiment = "load"

// document returns a result with one arm, the target, and one trial.
func (l *Load) document(m measure.Measurement, selfTest *SelfTestResult, partial bool) (result.Document, error) {
	nameUnidentified(&m, l.target())
	trial, err := trialOf(m)
	if err != nil {
		return result.Document{}, err
	}
	trial.Limited = generatorLimit(l.pace, l.settings.threads(), m, trial.Measures)
	maxFiles, err := process.RaiseFileLimit()
	if err != nil {
		return result.Document{}, err
	}
	finished := time.Now().UTC()
	d := result.Document{
		Schema: result.Schema, ID: result.NewID(trial.Started), Experiment: Experiment,
		Question: l.method + ": " + l.describe(),
		Cluster:  "local", Started: trial.Started, Finished: &finished, Partial: partial,
		Machine: result.ThisMachine(maxFiles),
		Rounds:  1, Seed: l.settings.Seed, Baseline: l.target(), TrialCount: 1,
		Arms: []result.Arm{{
			Name: l.target(), Describe: l.method, Route: "direct", Channel: l.connections(), Config: l.config(selfTest),
			Limited: trial.Limited, Measures: trial.Measures, Trials: []result.Trial{trial},
		}},
	}
	if n := m.Errors["CANCELLED"]; partial && n > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d calls were in flight at the interrupt and count as CANCELLED", n))
	}
	if selfTest == nil {
		d.Warnings = append(d.Warnings, "the generator's own limits were not measured because of the interrupt")
	}
	return d, nil
}

func trialOf(m measure.Measurement) (t result.Trial, err error) {
	t = result.Trial{Round: 1, Started: m.Started.UTC(), Measures: result.Measures{
		Calls: m.Calls, Errors: m.Errors, Late: m.Late, Dropped: m.Dropped, ElapsedMS: float64(m.Elapsed) / 1e6,
		Backends: m.Backends, Samples: m.Samples,
		Resources: result.Resources{Client: result.Usage{RSS: m.MaxRSS}},
	}}
	if m.Calls > 0 {
		t.Rate = float64(m.Calls) / m.Elapsed.Seconds()
		t.Resources.Client.CPU = float64(m.CPU) / 1e3 / float64(m.Calls)
	}
	t.Groups = [][]uint64{slices.Sorted(maps.Values(m.Backends))}
	b := verdict.Pool(t.Groups)
	t.Balance = result.Balance{Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom}
	t.Timeline = &result.Timeline{
		IntervalMS: measure.TimelineInterval.Milliseconds(), Backends: m.Timeline.Backends, Errors: m.Timeline.Failed(), Late: m.Timeline.Late,
	}
	for _, h := range []struct {
		to   *result.Histogram
		from string
	}{{&t.Latency, m.Latency}, {&t.Service, m.Service}, {&t.Lateness, m.Lateness}} {
		if *h.to, err = histogram(h.from); err != nil {
			return t, err
		}
	}
	if m.Answers != "" {
		messages, err := histogram(m.Answers)
		if err != nil {
			return t, err
		}
		t.Messages = &messages
	}
	return t, nil
}

func histogram(hdr string) (result.Histogram, error) {
	return result.Merge([]result.Histogram{{HDR: hdr}})
}

// nameUnidentified attributes answers without an identity to the target.
func nameUnidentified(m *measure.Measurement, name string) {
	if n, ok := m.Backends[""]; ok {
		m.Backends[name] += n
		m.Timeline.Backends[name] = m.Timeline.Backends[""]
		delete(m.Backends, "")
		delete(m.Timeline.Backends, "")
	}
}

// target returns the arm's name: the address, also of a URL.
func (l *Load) target() string {
	if u, err := url.Parse(l.settings.Target); l.settings.HTTP != "" && err == nil {
		return u.Host
	}
	return l.settings.Target
}

func (l *Load) connections() string {
	switch n := l.settings.Connections; {
	case l.settings.PerCall:
		return "per-call"
	case l.settings.connectsOnDemand():
		return "as needed"
	case n <= 1:
		return "shared"
	default:
		return fmt.Sprintf("pool of %d", n)
	}
}

// config returns the settings and the generator's limits.
func (l *Load) config(selfTest *SelfTestResult) map[string]any {
	s := l.settings
	c := map[string]any{
		"engine": s.engine(), "processors": s.threads(), "target": s.Target, "call": l.method, "load": s.describe(l.pace),
		"open": l.pace.Open(), "in_flight": l.pace.InFlight(), "timeout": s.Timeout.String(),
		"messages": l.messages.Len(), "warmup": s.Warmup, "tls": s.TLS != TLS{} || isHTTPS(s),
	}
	if closed, ok := l.pace.(pace.Closed); ok && closed.Think > 0 {
		c["think"] = closed.Think.String()
	}
	if version := s.httpVersion(); version > 0 {
		c["http"] = version
	}
	if l.stream != nil {
		c["stream"] = l.stream.String()
	}
	maps.Copy(c, s.ConnectionOptions.config())
	if selfTest != nil {
		c["generator"] = *selfTest
	}
	return c
}

func isHTTPS(s Settings) bool {
	u, err := url.Parse(s.Target)
	return s.HTTP != "" && err == nil && u.Scheme == "https"
}

const (
	// saturatedShare is the share of its CPU time above which the generator is a bottleneck.
	saturatedShare = 0.95
	// minJudgedDuration is the shortest load to which saturatedShare applies; in shorter loads the
	// start has too much weight.
	minJudgedDuration = 100 * time.Millisecond
)

// generatorLimit returns how the generator limited the load, or "".
func generatorLimit(p pace.Pace, threads int, m measure.Measurement, seen result.Measures) string {
	if m.Calls == 0 {
		return ""
	}
	if late := verdict.Late(seen.Lateness.P99, seen.Latency.P99); late != "" && !hasNoThinkTime(p) {
		return late
	}
	if used := m.CPU.Seconds() / m.Elapsed.Seconds(); m.Elapsed >= minJudgedDuration && used > saturatedShare*float64(threads) {
		return fmt.Sprintf("it used %.2f of %d processors", used, threads)
	}
	return ""
}

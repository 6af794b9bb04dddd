package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/service/stream"
	"rpclab/internal/verdict"
)

// Experiment is the experiment's name in results of loads.
const Experiment = "load"

// Trial adds what was measured of one load to its trial. After an interrupt, at a time that is zero if there was none,
// the load ended early.
func (l *Load) Trial(trial result.Trial, seen measure.Measurement, interrupted time.Time) result.Trial {
	seen.RenameBackends(l.BackendName)
	l.to.addUnused(seen.Backends)
	trial.Started = seen.Started.UTC()
	trial = analysis.Measured(trial, seen, l.settings.Search.Deadline(l.settings.Timeout), interrupted)
	trial.Backends = seen.Backends
	trial.Resources.Client.RSS = seen.MaxRSS
	if seen.Calls > 0 {
		trial.Resources.Client.CPU = float64(seen.CPU) / 1e3 / float64(seen.Calls)
	}
	trial.Groups = [][]uint64{slices.Sorted(maps.Values(seen.Backends))}
	b := verdict.Pool(trial.Groups)
	trial.Balance = result.Balance{Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom}
	trial.Timeline = &result.Timeline{
		IntervalMS: measure.TimelineInterval.Milliseconds(), Backends: seen.Timeline.Backends, Errors: seen.Timeline.Failed(), Late: seen.Timeline.Late,
	}
	trial.Limited, trial.LimitedBy = generatorLimit(l.pace, l.settings.threads(), seen, trial.Measures)
	return trial
}

// BackendName returns the name of a backend. The target is who answered without a name.
func (l *Load) BackendName(id string) string { return cmp.Or(id, l.Name()) }

// Complete adds to an assembled document what only the load knows. selfTest is nil if it was not made or failed; why
// says so: "because of the interrupt".
func (l *Load) Complete(d result.Document, selfTest *SelfTestResult, why string) result.Document {
	arm := &d.Arms[0]
	warn := func(text string) { d.Warnings = append(d.Warnings, text) }
	if unused := l.to.addUnused(arm.Backends); len(unused) > 0 && arm.Calls > 0 {
		warn(fmt.Sprintf("%s answered no call, although --balance %s sends calls to every address", strings.Join(unused, ", "), RoundRobin))
	}
	if l.to.balanced() && !l.to.several() {
		warn(fmt.Sprintf("%s has one address, so --balance %s had no effect", l.Name(), RoundRobin))
	}
	if s := l.stream; s != nil && s.MaxDuration == 0 {
		if text := analysis.EndedFirst(*arm, s.MaxResponses, stream.Flags.MaxResponses); text != "" {
			warn(text)
		}
	}
	if selfTest == nil {
		warn("the generator's own limits were not measured " + why)
		return d
	}
	for _, t := range arm.Trials {
		selfTest.exceededBy(t.Rate)
		if t.Capacity == nil {
			continue
		}
		for _, p := range t.Capacity.Probes { // the rate of the trial is that of one of them
			if p.Limited == "" {
				selfTest.exceededBy((float64(p.Calls) - float64(p.Errors)) / (p.DurationMS / 1e3))
			}
		}
	}
	arm.Config = maps.Clone(arm.Config)
	arm.Config["generator"] = *selfTest
	return d
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

// config returns the settings.
func (l *Load) config() map[string]any {
	settings := l.settings
	config := map[string]any{
		"engine": settings.engine(), "processors": settings.threads(), "target": settings.Target, "call": l.method, "load": settings.describe(l.pace),
		"open": l.pace.Open(), "in_flight": l.pace.InFlight(), "timeout": settings.Timeout.String(),
		"messages": l.messages.Len(), "data_hash": l.dataHash, "metadata": settings.metadataNames(), "warmup": settings.Warmup, "tls": settings.usesTLS(),
	}
	if closed, ok := l.pace.(pace.Closed); ok && closed.Think > 0 {
		config["think"] = closed.Think.String()
	}
	if l.to.several() {
		config["addresses"], config["balance"] = l.to.addresses, l.to.balance
	}
	if settings.Compress != "" {
		config["compress"] = settings.Compress
	}
	if settings.UserAgent != "" {
		config["user_agent"] = settings.UserAgent
	}
	if name := settings.authority(""); name != "" {
		config["authority"] = name
	}
	if version := settings.httpVersion(); version > 0 {
		config["http"] = version
	}
	if settings.NoDecode {
		config["no_decode"] = true
	}
	if settings.MaxHeaderList > 0 {
		config["max_header_list"] = settings.MaxHeaderList
	}
	if settings.MaxMessage > 0 {
		config["max_message"] = settings.MaxMessage
	}
	if l.stream != nil {
		config["stream"] = l.stream.String()
	}
	maps.Copy(config, settings.ConnectionOptions.config())
	return config
}

const (
	// saturatedShare is the share of its CPU time above which the generator is a bottleneck.
	saturatedShare = 0.95
	// minJudgedDuration is the duration of the shortest load to which saturatedShare applies. In shorter
	// loads, the CPU time before the first call would count too much.
	minJudgedDuration = 100 * time.Millisecond
)

// generatorLimit returns how the generator limited the load, or "". It checks for saturated processors first,
// because they affect every figure. Lateness may affect the 99th percentile only.
func generatorLimit(plan pace.Pace, threads int, measured measure.Measurement, measures result.Measures) (limited string, by result.Limit) {
	if measured.Calls == 0 {
		return "", ""
	}
	took := measured.Elapsed
	if measured.Window > 0 { // the rest is the wait for the last answers
		took = min(took, measured.Window)
	}
	if used := measured.CPU.Seconds() / took.Seconds(); took >= minJudgedDuration && used > saturatedShare*float64(threads) {
		return fmt.Sprintf("rpclab used %.2f of %d processors", used, threads), result.LimitedByProcessors
	}
	if hasNoThinkTime(plan) {
		return "", ""
	}
	return analysis.Late(measures)
}

// describe describes the load in one clause.
func (l *Load) describe() string {
	text := l.settings.describe(l.pace)
	if l.stream != nil {
		text += ", each call " + l.stream.String()
	}
	if n := l.Rounds(); n > 1 {
		text += fmt.Sprintf(", %d rounds", n)
	}
	return text
}

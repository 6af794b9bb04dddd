package load

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Experiment is the experiment's name in results of loads.
const Experiment = "load"

// document returns a result with one arm, the target, and one trial for each round.
func (l *Load) document(rounds []round, selfTest *SelfTestResult) (result.Document, error) {
	arm := result.Arm{Name: l.name(), Describe: l.method, Route: "direct", Channel: l.connections(), Config: l.config(selfTest)}
	waited := uint64(0)
	for i, r := range rounds {
		waited += r.Waited
		trial, err := l.trial(r)
		if err != nil {
			return result.Document{}, err
		}
		trial.Round, trial.Order = i+1, i
		arm.Trials = append(arm.Trials, trial)
	}
	last := rounds[len(rounds)-1]
	planned := l.settings.rounds()
	maxFiles, err := process.RaiseFileLimit()
	if err != nil {
		return result.Document{}, err
	}
	finished := time.Now().UTC()
	document := analysis.Assemble(result.Document{
		Schema: result.Schema, ID: cmp.Or(l.ID, result.NewID(arm.Trials[0].Started)), Experiment: Experiment,
		Question: l.Question(),
		Cluster:  "local", Started: arm.Trials[0].Started, Finished: &finished, Partial: last.interrupted || len(rounds) < planned,
		Machine: result.ThisMachine(maxFiles),
		Rounds:  planned, Seed: l.settings.Seed, Baseline: l.name(), TrialCount: planned,
		Arms: []result.Arm{arm},
	})
	if cancelled := last.cancelled(); cancelled > 0 {
		document.Warnings = append(document.Warnings, fmt.Sprintf("%d calls were in flight at the interrupt and count as CANCELLED, not in the latency", cancelled))
	}
	merged := document.Arms[0]
	if unused := l.to.addUnused(merged.Backends); len(unused) > 0 && merged.Calls > 0 {
		document.Warnings = append(document.Warnings, fmt.Sprintf("%s answered no call, although --balance %s sends calls to every address", strings.Join(unused, ", "), RoundRobin))
	}
	if waited > 0 && (l.settings.engine() == Wire || verdict.Waited(waited, merged.Calls) != "") {
		document.Warnings = append(document.Warnings, l.waited(waited, merged.Calls))
	}
	if text := l.endedFirst(merged); text != "" {
		document.Warnings = append(document.Warnings, text)
	}
	if selfTest == nil {
		document.Warnings = append(document.Warnings, "the generator's own limits were not measured because of the interrupt")
	}
	return document, nil
}

func (l *Load) trial(r round) (result.Trial, error) {
	nameUnidentified(&r.Measurement, l.name())
	l.to.addUnused(r.Backends)
	if r.interrupted && r.Elapsed < r.Window {
		r.Window = 0 // it did not end
	}
	trial, err := trialOf(r.Measurement)
	if err != nil {
		return trial, err
	}
	if err := trial.CountLost(l.settings.Timeout, r.cancelled()); err != nil {
		return trial, err
	}
	trial.MachineWarnings, trial.Machine = r.warnings, r.machine
	trial.Limited, trial.LimitedBy = generatorLimit(l.pace, l.settings.threads(), r.Measurement, trial.Measures)
	return trial, nil
}

func trialOf(measured measure.Measurement) (trial result.Trial, err error) {
	trial = result.Trial{Started: measured.Started.UTC(), Measures: result.Measures{
		Calls: measured.Calls, Errors: measured.Errors, Late: measured.Late, Dropped: measured.Dropped, ElapsedMS: float64(measured.Elapsed) / 1e6,
		Backends: measured.Backends, Samples: measured.Samples,
		Resources: result.Resources{Client: result.Usage{RSS: measured.MaxRSS}},
	}}
	trial.Rate, trial.Window = analysis.Rate(measured)
	if measured.Calls > 0 {
		trial.Resources.Client.CPU = float64(measured.CPU) / 1e3 / float64(measured.Calls)
	}
	trial.Groups = [][]uint64{slices.Sorted(maps.Values(measured.Backends))}
	b := verdict.Pool(trial.Groups)
	trial.Balance = result.Balance{Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom}
	trial.Timeline = &result.Timeline{
		IntervalMS: measure.TimelineInterval.Milliseconds(), Backends: measured.Timeline.Backends, Errors: measured.Timeline.Failed(), Late: measured.Timeline.Late,
	}
	if len(measured.Errors) > 0 {
		trial.AnsweredLateness = new(result.Histogram)
	}
	trial.LatencyOverTime = analysis.LatencyOverTime(measured)
	for _, part := range []struct {
		to   *result.Histogram
		from string
	}{{&trial.Latency, measured.Latency}, {&trial.Service, measured.Service}, {&trial.Lateness, measured.Lateness}, {trial.AnsweredLateness, measured.AnsweredLateness}} {
		if part.to == nil {
			continue // no call failed
		}
		if *part.to, err = result.FromEncoded(part.from); err != nil {
			return trial, err
		}
	}
	if measured.Answers != "" {
		messages, err := result.FromEncoded(measured.Answers)
		if err != nil {
			return trial, err
		}
		trial.Messages = &messages
	}
	return trial, nil
}

// nameUnidentified counts responses without a server's identity as those of the target.
func nameUnidentified(measured *measure.Measurement, name string) {
	if n, ok := measured.Backends[""]; ok {
		measured.Backends[name] += n
		measured.Timeline.Backends[name] = measured.Timeline.Backends[""]
		delete(measured.Backends, "")
		delete(measured.Timeline.Backends, "")
	}
}

// name returns the name of the arm: the address of the target, or the address in its URL.
func (l *Load) name() string {
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
	settings := l.settings
	config := map[string]any{
		"engine": settings.engine(), "processors": settings.threads(), "target": settings.Target, "call": l.method, "load": settings.describe(l.pace),
		"open": l.pace.Open(), "in_flight": l.pace.InFlight(), "timeout": settings.Timeout.String(),
		"messages": l.messages.Len(), "warmup": settings.Warmup, "tls": settings.TLS != TLS{} || isHTTPS(settings),
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
	if selfTest != nil {
		config["generator"] = *selfTest
	}
	return config
}

func isHTTPS(s Settings) bool {
	u, err := url.Parse(s.Target)
	return s.HTTP != "" && err == nil && u.Scheme == "https"
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
	if used := measured.CPU.Seconds() / measured.Elapsed.Seconds(); measured.Elapsed >= minJudgedDuration && used > saturatedShare*float64(threads) {
		return fmt.Sprintf("rpclab used %.2f of %d processors", used, threads), result.LimitedByProcessors
	}
	if hasNoThinkTime(plan) {
		return "", ""
	}
	return analysis.Late(measures, measured.Waited)
}

// endedFirst says that servers ended streams before they sent the responses of --stream-messages; "": they
// did not, or it is not known.
func (l *Load) endedFirst(arm result.Arm) string {
	if l.stream == nil || l.stream.MaxResponses == 0 || l.stream.MaxDuration > 0 || arm.Calls == 0 || arm.Failed() > 0 {
		return ""
	}
	responses := int64(0)
	if arm.Messages != nil {
		times, err := arm.Messages.Decode()
		if err != nil {
			return ""
		}
		responses = times.TotalCount()
	}
	if most := l.stream.MaxResponses; responses < int64(arm.Calls)*int64(most) {
		return fmt.Sprintf("%d calls had %d responses, not %d each as --stream-messages says, because the server ended streams first", arm.Calls, responses, most)
	}
	return ""
}

// waited says how many calls waited for a stream or connection, and how to avoid it.
func (l *Load) waited(waited, calls uint64) string {
	settings := l.settings
	text := fmt.Sprintf("%d of %d calls (%.3g %%) waited in rpclab for", waited, calls, 100*float64(waited)/float64(calls))
	switch {
	case settings.httpVersion() == 1:
		text += " a connection, which carries one call at a time: use more --connections"
	case settings.Streams > 0:
		text += fmt.Sprintf(" a stream, because --streams limits the calls on a connection to %d: raise it or use more --connections", settings.Streams)
	case settings.engine() == GRPCGo: // which does not say why
		return fmt.Sprintf("%d of %d calls (%.3g %%) waited over 1 ms in grpc-go: for a stream, if the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), or for a processor; use more --connections, or fewer calls at once; the wait counts as lateness, not as service",
			waited, calls, 100*float64(waited)/float64(calls))
	default:
		text += " a stream, because the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS): use more --connections"
	}
	return text + "; the wait counts as lateness, not as service"
}

// describe describes the load in one clause.
func (l *Load) describe() string {
	text := l.settings.describe(l.pace)
	if l.stream != nil {
		text += ", each call " + l.stream.String()
	}
	if n := l.settings.rounds(); n > 1 {
		text += fmt.Sprintf(", %d rounds", n)
	}
	return text
}

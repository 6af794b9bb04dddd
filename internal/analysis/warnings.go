package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// mostSkew is how far apart callers may start, in milliseconds.
const mostSkew = 10

// warnings say what went wrong in the trials of an arm.
func warnings(arm result.Arm) []string {
	var all []string
	if arm.Untested {
		all = append(all, fmt.Sprintf("%s: the route %s is not proven, because no test of rpclab runs it: check which backends were called, and the proxies' own metrics", place(arm), arm.Route))
	}
	for _, failed := range arm.FailedTrials() {
		all = append(all, fmt.Sprintf("%s, %s gave no measurement%s%s", place(arm), failed.Where(), failed.Before(), failed.Reason))
	}
	for _, t := range arm.Trials {
		for _, lost := range t.Lost {
			all = append(all, fmt.Sprintf("%s, round %d: %s", place(arm), t.Round, lost))
		}
		if w := t.WarmUp; w != nil && !w.Steady {
			all = append(all, fmt.Sprintf("%s, round %d: %s", place(arm), t.Round, Unsteady(*w, "caller.warmup_max (rpclab load: --warmup-max)")))
		}
		if t.Cancelled > 0 {
			all = append(all, fmt.Sprintf("%s, round %d: calls in flight at the interrupt (%d) count as CANCELLED, not in the latency", place(arm), t.Round, t.Cancelled))
		}
		if skew := result.Skew(t.Callers); skew > mostSkew {
			all = append(all, fmt.Sprintf("%s, round %d: callers started their shares of the load %.0f ms apart; %d ms are allowed", place(arm), t.Round, skew, mostSkew))
		}
		for _, e := range t.Events {
			if e.Error != "" {
				all = append(all, fmt.Sprintf("%s, round %d: %s was not performed: %s", place(arm), t.Round, e.What, e.Error))
			}
			if u := e.Unfinished; u != nil && len(t.Lost) == 0 { // else a lost backend may be the reason
				all = append(all, fmt.Sprintf("%s, round %d: the load ended after %d of %d backends were %s (%s); lengthen the load", place(arm), t.Round, u.Done, u.Of, finished(e), e.What))
			}
		}
	}
	unknown := slices.IndexFunc(arm.Trials, func(t result.Trial) bool { return t.Unknown != "" })
	if unknown >= 0 { // once: the reason of every trial is the same
		all = append(all, fmt.Sprintf("%s: %s", place(arm), arm.Trials[unknown].Unknown))
	}
	for _, text := range []string{waits(arm), resent(arm), endedFirst(arm), throttledByOwnLimit(arm), collectedGarbage(arm)} {
		if text != "" {
			all = append(all, place(arm)+": "+text)
		}
	}
	return all
}

// endedFirst says what [EndedFirst] says of an arm that makes one call of a service.
func endedFirst(arm result.Arm) string {
	settings := arm.Settings()
	if arm.OwnService == nil || len(arm.OwnService.Calls) != 1 || settings.Caller.Stream != nil { // then a call is a message
		return ""
	}
	for _, call := range arm.OwnService.Calls {
		if s := call.Stream; s != nil && s.DurationMS == 0 {
			return EndedFirst(arm, s.Messages, "stream.messages")
		}
	}
	return ""
}

// EndedFirst says that servers ended streams before they sent the most responses that an option asks for; "": they did
// not, or it is not known. The number of responses contains those of failed calls.
func EndedFirst(arm result.Arm, most int, option string) string {
	successful, responses := int64(arm.Calls-arm.Failed()), int64(0)
	if arm.Messages != nil {
		times, err := arm.Messages.Decode()
		if err != nil {
			return ""
		}
		responses = times.TotalCount()
	}
	if responses >= successful*int64(most) {
		return ""
	}
	calls, atMost := fmt.Sprintf("%d calls", successful), ""
	if arm.Failed() > 0 {
		calls, atMost = fmt.Sprintf("%d successful calls", successful), " at most"
	}
	return fmt.Sprintf("%s had %d responses%s, not %d each as %s says, because the server ended streams first", calls, responses, atMost, most, option)
}

// waits says how many calls waited in the client for a stream or connection, and how to avoid it; "": none did. grpc-go
// does not say why a call waits. Few of its calls, or those of a burst, may have waited for a processor.
func waits(arm result.Arm) string {
	if arm.Waited == 0 {
		return ""
	}
	const limit = "the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)"
	const few = 10
	const one = "a connection, which carries one call at a time"
	s := arm.Settings()
	where, advice := "", "use more --connections"
	if s.Engine == "" { // not of rpclab load ADDRESS
		advice = "use more connections (caller.channel: {pool: N}; rpclab load --service: --connections N)"
	}
	switch library := cmp.Or(s.Engine, s.Caller.Kind); {
	case library == "grpc-go" && (arm.Waited < few || verdict.Waited(arm.Waited, arm.Calls) == "" || s.Load != nil && s.Load.Burst != nil):
		return ""
	case library == "grpc-go":
		where, advice = "over 1 ms in grpc-go: for a stream, if "+limit+", or for a processor", advice+", or fewer calls at once"
	case s.HTTP == 1:
		where = "in rpclab for " + one
	case s.Streams > 0:
		where = fmt.Sprintf("in rpclab for a stream, because --streams limits the calls on a connection to %d", s.Streams)
		advice = "raise it or " + advice
	case s.Engine == "": // the settings of an experiment do not tell HTTP/1.1 from HTTP/2
		where = "in rpclab for a stream, because " + limit + ", or over HTTP/1.1 for " + one
	default:
		where = "in rpclab for a stream, because " + limit
	}
	return fmt.Sprintf("%d of %d calls (%.3g %%) waited %s: %s; the wait counts as lateness, not as service",
		arm.Waited, arm.Calls, 100*float64(arm.Waited)/float64(arm.Calls), where, advice)
}

// resent says how many requests the client sent again; "": none of many. A few are usual when a server closes a connection.
func resent(arm result.Arm) string {
	const few = 0.01 // of the calls
	if float64(arm.Resent) <= few*float64(arm.Calls) {
		return ""
	}
	return fmt.Sprintf("servers refused %d requests (%.3g %% of the calls) or closed their connections first, and the client sent these again: "+
		"the servers received more requests than there were calls", arm.Resent, 100*float64(arm.Resent)/float64(arm.Calls))
}

// finished returns what a rollout or a scaling does to each backend.
func finished(e result.Event) string {
	if e.Action == result.ActionRoll {
		return "replaced"
	}
	return "ready"
}

// throttledByOwnLimit warns if the quota that the experiment sets for its backends throttled them. The quota
// may be the question, so verdicts do not change.
func throttledByOwnLimit(arm result.Arm) string {
	cpus := arm.Settings().Server.CPUs
	if cpus == 0 {
		return ""
	}
	var throttled []float64
	for _, t := range arm.Trials {
		used := t.Resources.Server
		had := used.CPU * float64(t.Calls) / 1e3
		throttled = append(throttled, used.ThrottledMS/max(used.ThrottledMS+had, 1e-6))
	}
	q := verdict.Median(throttled)
	if !(q > mostThrottled) {
		return ""
	}
	return fmt.Sprintf("its servers were throttled: their quota (server.cpus: %v) took %.0f %% of the CPU time that they needed; unless that limit is the question, raise server.cpus", cpus, 100*q)
}

// mostCollecting is the share of the time of a load that its Java virtual machines may collect garbage.
const mostCollecting = 0.2

// collectedGarbage warns if Java servers spent much of the load on garbage: their figures are then those of their heap.
func collectedGarbage(arm result.Arm) string {
	var collecting []float64
	for _, t := range arm.Trials {
		if t.JVM != nil && t.ElapsedMS > 0 {
			spent := t.JVM.Collecting * float64(t.Calls) / 1e3
			collecting = append(collecting, spent/(t.ElapsedMS*float64(max(len(t.Servers), 1))))
		}
	}
	if len(collecting) == 0 {
		return ""
	}
	share := verdict.Median(collecting)
	if !(share > mostCollecting) {
		return ""
	}
	limit, advice := " (a part of the machine's memory)", "server.memory"
	switch s := arm.Settings(); {
	case s.Service != "":
		limit, advice = "", "the largest heap of the service (-Xmx)"
	case s.Server.Heap != "":
		limit, advice = " (server.heap: "+s.Server.Heap+")", "server.heap, and server.memory with it"
	case s.Server.Memory != "":
		limit = " (60 % of server.memory: " + s.Server.Memory + ")"
	}
	return fmt.Sprintf("its Java servers collected garbage for %.0f %% of the time of the load, as when live data nearly fill their heap%s; unless that limit is the question, raise %s", 100*min(share, 1), limit, advice)
}

// Unsteady says why a warm-up did not end before the limit in a setting.
func Unsteady(w result.WarmUp, setting string) string {
	if w.NeedsMS > w.TookMS {
		return fmt.Sprintf("calls take too long to tell in %.0f s of warm-up whether the load is steady; set %s to more than %.0f s", w.TookMS/1e3, setting, w.NeedsMS/1e3)
	}
	return fmt.Sprintf("rate or latency still changed after %.0f s of warm-up; raise %s", w.TookMS/1e3, setting)
}

package experiment

import (
	"slices"
	"strings"
	"time"

	"rpclab/internal/suggest"
)

// retryable are the status codes that every route can retry: those of xDS (gRFC A44).
var retryable = []string{"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}

// checkRoute checks that the route and the caller support the fields of an arm.
func (d *document) checkRoute(config Config, n *node, wrong *problems) {
	vocabulary := d.grammar.vocabulary
	place := func(path ...string) position {
		at, _ := n.find(path)
		return at.at
	}
	switch policies := vocabulary.Policies[config.Route]; {
	case config.Policy == "" || slices.Contains(policies, config.Policy):
	case len(policies) == 0:
		wrong.add(place("policy"), "route %s has no choice of policies: remove policy, or use the route %s", config.Route, joinOr(vocabulary.routesWithPolicy(config.Policy)))
	default:
		wrong.add(place("policy"), "route %s has no policy %s%s", config.Route, config.Policy, suggest.DidYouMean(config.Policy, policies))
	}
	if config.Outlier != nil && !slices.Contains(vocabulary.OutlierRoutes, config.Route) {
		wrong.add(place("outlier"), "route %s does not support outlier detection: use the route %s", config.Route, joinOr(vocabulary.OutlierRoutes))
	}
	if config.Caller.Retry != nil && config.Caller.Hedge != nil {
		wrong.add(place("caller", "hedge"), "caller accepts only one of retry and hedge")
	}
	if f := config.Workload.Fibonacci; f != nil && f.From > f.To {
		wrong.add(place("workload", "fibonacci"), "workload.fibonacci: from is %d, more than to, %d", f.From, f.To)
	}
	if config.Server.AgeGrace > 0 && config.Server.MaxAge == 0 {
		wrong.add(place("server", "age_grace"), "server.age_grace needs server.max_age")
	}
	d.checkServerFields(config, place, wrong)
	if r := config.Caller.Retry; r != nil {
		if slices.Contains(vocabulary.OwnRetryRoutes, config.Route) {
			wrong.add(place("caller", "retry"), "on route %s the control plane sends clients their retries: remove caller.retry, or use another route", config.Route)
		}
		for _, code := range r.Codes {
			if !slices.Contains(retryable, code) {
				wrong.add(place("caller", "retry"), "caller.retry.codes: rpclab cannot retry %q%s", code, suggest.DidYouMean(code, retryable))
			}
		}
	}
	if config.Caller.Command != nil {
		d.checkOwnClient(config, n, wrong)
		return
	}
	d.checkCaller(config, place, wrong)
	d.checkCalls(config, place, wrong)
	d.checkServiceConfig(config, n, wrong)
}

// checkServerFields checks the fields that only some servers have.
func (d *document) checkServerFields(config Config, place func(...string) position, wrong *problems) {
	server := config.Server
	for field, set := range map[string]bool{"heap": server.Heap > 0, "direct_memory": server.Direct > 0} {
		if set && server.Language != "java" {
			wrong.add(place("server", field), "server.%s is of a JVM, and the servers are in %s: remove it, or set server.language to java", field, server.Language)
		}
	}
	if server.Heap > 0 && server.Memory > 0 && server.Heap > server.Memory {
		wrong.add(place("server", "heap"), "server.heap is more than server.memory: decrease it")
	}
	for field, set := range map[string]bool{"api": server.API != "", "next_api": server.NextAPI != ""} {
		if set && (server.Language != "go" || server.Model == "tcp" || !config.Workload.Increase) {
			wrong.add(place("server", field), "server.%s needs gRPC or REST servers in go and the workload increase", field)
		}
	}
	rolls := func(event *node) bool { return event.get("roll") != nil }
	if events := d.root.get("events"); server.NextAPI != "" && (events == nil || !slices.ContainsFunc(events.values, rolls)) {
		wrong.add(place("server", "next_api"), "server.next_api needs the event roll, which starts these backends: add {at: 2s, roll: true} to events")
	}
}

// checkCallerShares checks that every caller process gets a share of the load.
func (d *document) checkCallerShares(config Config, n *node, wrong *problems) {
	callers, load := config.Callers, config.Load
	if callers <= 1 {
		return
	}
	at := func(path string) position {
		found, _ := n.find(strings.Split(path, "."))
		return found.at
	}
	if load.Sequence > 0 {
		wrong.add(at("load.sequence"), "%d callers cannot share a sequence, which makes one call at a time: "+
			"use load.closed, or remove callers", callers)
	}
	enough := func(path string, there int) {
		if there < callers {
			wrong.add(at(path), "%s is %d, less than one for each of %d callers: increase it, or decrease callers", path, there, callers)
		}
	}
	if load.Burst > 0 {
		enough("load.burst", load.Burst)
	}
	if closed := load.Closed; closed != nil {
		enough("load.closed.users", closed.Users)
		if closed.Calls > 0 && closed.Calls < closed.Users { // a share of 0 would mean no limit
			wrong.add(at("load.closed.calls"), "load.closed.calls is %d, less than one for each of %d users of %d callers: increase it, or remove callers",
				closed.Calls, closed.Users, callers)
		}
	}
	if open := load.Open; open != nil {
		enough("load.open.max_in_flight", open.MaxInFlight)
		if due := int(open.Rate * open.Duration.Seconds()); due < callers {
			wrong.add(at("load.open.rate"), "%d calls are due in load.open.duration, less than one for each of %d callers: increase the rate or the duration, or decrease callers", due, callers)
		}
	}
	if search := load.Search; search != nil {
		enough("load.search.max_in_flight", search.MaxInFlight)
	}
}

// checkConfig checks fields of one arm that depend on each other.
func (d *document) checkConfig(config Config, n *node, wrong *problems) {
	if closed := config.Load.Closed; closed != nil && closed.Duration == 0 && closed.Calls == 0 {
		at, _ := n.find([]string{"load", "closed"})
		wrong.add(at.at, "load.closed never ends: set duration or calls")
	}
	if closed := config.Load.Closed; closed != nil && closed.Duration > 0 && closed.Ramp >= closed.Duration {
		at, _ := n.find([]string{"load", "closed", "ramp"})
		wrong.add(at.at, "load.closed.ramp, %s, must be shorter than duration, %s, or some users never start", formatDuration(closed.Ramp), formatDuration(closed.Duration))
	}
	d.checkRoute(config, n, wrong)
	d.checkCallerShares(config, n, wrong)
	if search := config.Load.Search; search != nil {
		place := func(field string) position {
			at, _ := n.find([]string{"load", "search", field})
			return at.at
		}
		if _, err := config.ParseSLO(); err != nil {
			wrong.add(place("slo"), "load.search.slo %v", err)
		}
		if search.From >= search.To {
			wrong.add(place("to"), "load.search.to must be more than from, %s, not %s", formatRate(search.From), formatRate(search.To))
		}
	}
}

// checkEvents tracks the number of backends through the events of one config.
func (d *document) checkEvents(events []Event, config Config, wrong *problems) {
	if config.Load.Search != nil && len(events) > 0 {
		wrong.add(d.position("events"), "events cannot be used with load.search: which rate they affect would be random; use load.open")
		return
	}
	if config.Gateway != nil && len(events) > 0 {
		wrong.add(d.position("events"), "events cannot be used with gateway: each of its requests makes several calls, whose outcomes rpclab cannot tell apart; remove gateway or events")
		return
	}
	length := config.Load.duration()
	backends, last := config.Server.Replicas, time.Duration(0)
	known := d.root.get("services").get(config.Service).get("server").get("service") == nil // else they run already
	for i, e := range events {
		n := d.root.get("events").values[i]
		at := n.get("at").at
		if e.At < last {
			wrong.add(at, "events must be in order of time: %s comes after %s", formatDuration(e.At), formatDuration(last))
		}
		if length > 0 && e.At >= length {
			wrong.add(at, "at %s is after the end of the load, which lasts %s", formatDuration(e.At), formatDuration(length))
		}
		last = e.At
		if word, count := e.backendAction(); known && count > backends {
			wrong.add(n.get(word).at, "%s %d: only %d backends exist at that time", word, count, backends)
		}
		if e.Slow != nil && e.Slow.By > 0 && e.Slow.Times > 0 {
			wrong.add(n.get("slow").at, "slow accepts only one of by and times")
		}
		if e.Scale > 0 {
			backends, known = e.Scale, true
		}
	}
}

// checkHeadline checks that the headline names each metric once, and that the events allow each metric.
func (d *document) checkHeadline(experiment *Experiment, wrong *problems) {
	list := d.root.get("headline")
	if list == nil {
		return
	}
	if len(list.values) == 0 {
		wrong.add(list.at, "headline is empty: list the metrics that answer the question, or remove it")
	}
	for i, name := range experiment.Headline {
		at := list.values[i].at
		switch {
		case slices.Contains(experiment.Headline[:i], name):
			wrong.add(at, "headline contains %s twice", name)
		case name == "followed" && !slices.ContainsFunc(experiment.Events, Event.mayAddBackends):
			wrong.add(at, "headline followed is the time until calls reach new backends, but no event adds a backend: add an event such as {at: 5s, scale: 10}, or remove followed")
		case name == "convergence" && len(experiment.Events) == 0:
			wrong.add(at, "headline convergence is the time until calls are balanced again after an event, but there are no events: remove convergence")
		}
	}
}

// mayAddBackends reports whether backends may become ready after the event.
func (e Event) mayAddBackends() bool { return e.Scale > 0 || e.Rolls() || e.Kill > 0 }

package experiment

import (
	"slices"

	"rpclab/internal/nearest"
)

// retryable are the codes that every route can retry: those that xDS knows (gRFC A44).
var retryable = []string{"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}

// checkWay: a route can do what an arm asks of it, and its caller too.
func (d *document) checkWay(config Config, n *node, c *problems) {
	words := d.grammar.vocabulary
	place := func(path ...string) place {
		at, _ := n.find(path)
		return at.at
	}
	switch policies := words.Policies[config.Route]; {
	case config.Policy == "" || slices.Contains(policies, config.Policy):
	case len(policies) == 0:
		c.add(place("policy"), "route %s leaves no choice of a policy: leave it out, or take the route %s", config.Route, either(words.choosing(config.Policy)))
	default:
		c.add(place("policy"), "route %s has no policy %s%s", config.Route, config.Policy, nearest.Suggest(config.Policy, policies))
	}
	if config.Outlier != nil && !slices.Contains(words.Outliers, config.Route) {
		c.add(place("outlier"), "route %s cannot leave backends out: take the route %s", config.Route, either(words.Outliers))
	}
	if config.Caller.Retry != nil && config.Caller.Hedge != nil {
		c.add(place("caller", "hedge"), "caller can have only one of retry and hedge")
	}
	if f := config.Workload.Fibonacci; f != nil && f.From > f.To {
		c.add(place("workload", "fibonacci"), "workload.fibonacci goes from %d to %d: from must not be more than to", f.From, f.To)
	}
	if config.Server.AgeGrace > 0 && config.Server.MaxAge == 0 {
		c.add(place("server", "age_grace"), "server.age_grace is about connections that have reached max_age: set server.max_age")
	}
	if r := config.Caller.Retry; r != nil {
		for _, code := range r.Codes {
			if !slices.Contains(retryable, code) {
				c.add(place("caller", "retry"), "caller.retry.codes: no call is tried again for %q%s", code, nearest.Suggest(code, retryable))
			}
		}
	}
	d.checkCaller(config, place, c)
	d.checkCalls(config, place, c)
}

// choosing are the routes that have the policy.
func (v Vocabulary) choosing(policy string) (routes []string) {
	for _, name := range v.Routes {
		if slices.Contains(v.Policies[name], policy) {
			routes = append(routes, name)
		}
	}
	return routes
}

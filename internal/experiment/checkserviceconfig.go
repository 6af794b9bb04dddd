package experiment

import (
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// serviceConfigFields are the fields of the messages in a service config (grpc/grpc-proto,
// service_config.proto). gRPC ignores unknown fields, so a misspelled one would have no effect.
var serviceConfigFields = map[string][]string{
	"caller.service_config":    {"methodConfig", "retryThrottling", "loadBalancingConfig", "loadBalancingPolicy", "healthCheckConfig"},
	"methodConfig":             {"name", "waitForReady", "timeout", "maxRequestMessageBytes", "maxResponseMessageBytes", "retryPolicy", "hedgingPolicy"},
	"methodConfig.name":        {"service", "method"},
	"methodConfig.retryPolicy": {"maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes"},
	"retryThrottling":          {"maxTokens", "tokenRatio"},
	"healthCheckConfig":        {"serviceName"},
}

// checkServiceConfig checks the service config of an arm. n is the merged config of the arm.
func (d *document) checkServiceConfig(config Config, n *node, wrong *problems) {
	given := n.get("caller").get("service_config")
	if given == nil {
		return
	}
	caller, vocabulary := config.Caller.Kind, d.grammar.vocabulary
	if config.Gateway == nil && !slices.Contains(vocabulary.callersWith("service_config"), caller) {
		wrong.add(given.at, "the caller %s has no service config, which a gRPC library reads: use the caller %s", caller, joinOr(vocabulary.callersWith("service_config")))
		return
	}
	if slices.Contains(vocabulary.FullClientRoutes, config.Route) {
		wrong.add(given.at, "on the route %s the control plane sends clients their service config, which replaces this one: use another route", config.Route)
		return
	}
	conflict := func(field, what string, set bool, path ...string) {
		if found := given.get(field); found != nil && set {
			other, _ := n.find(path)
			wrong.add(other.at, "%s and %s of caller.service_config both set %s: remove one of them", strings.Join(path, "."), field, what)
		}
	}
	for _, field := range []string{"loadBalancingConfig", "loadBalancingPolicy"} {
		conflict(field, "the load balancing policy", config.Policy != "", "policy")
		conflict(field, "the load balancing policy", config.Outlier != nil, "outlier")
	}
	conflict("methodConfig", "what happens to failed calls", config.Caller.Retry != nil, "caller", "retry")
	conflict("methodConfig", "what happens to slow calls", config.Caller.Hedge != nil, "caller", "hedge")
	before := len(wrong.found)
	checkFields("caller.service_config", given, wrong)
	for _, method := range given.get("methodConfig").elements() {
		if method.get("name") == nil {
			wrong.add(method.at, "methodConfig has no name, so it applies to no method: add name: [{}] for all methods")
		}
		if retries := method.get("retryPolicy"); retries != nil {
			for _, field := range serviceConfigFields["methodConfig.retryPolicy"] { // gRPC requires all
				if retries.get(field) == nil {
					wrong.add(retries.at, "methodConfig.retryPolicy needs %s", field)
				}
			}
		}
		if hedging := method.get("hedgingPolicy"); hedging != nil {
			wrong.add(hedging.at, "no caller of rpclab hedges by a service config: use caller.hedge, of the caller grpc-go")
		}
	}
	if len(wrong.found) > before || vocabulary.CheckServiceConfig == nil {
		return
	}
	if err := vocabulary.CheckServiceConfig(string(config.Caller.ServiceConfig)); err != nil {
		wrong.add(given.at, "caller.service_config: %v: see https://grpc.io/docs/guides/service-config", err)
	}
}

// checkFields checks the names of the fields of a message, and of the messages in it. where is the path of the
// message.
func checkFields(where string, n *node, wrong *problems) {
	known := serviceConfigFields[where]
	for _, message := range append(n.elements(), n) {
		for _, p := range message.pairs {
			path := strings.TrimPrefix(where+"."+p.key, "caller.service_config.")
			if !slices.Contains(known, p.key) {
				wrong.add(p.at, "unknown field %q in %s%s", p.key, where, suggest.DidYouMean(p.key, known))
			} else if serviceConfigFields[path] != nil {
				checkFields(path, p.value, wrong)
			}
		}
	}
}

package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfServiceConfigs(t *testing.T) {
	arm := func(fields string) string {
		return strings.Replace(head, "{route: headless}", "{route: headless, "+fields+"}", 1)
	}
	for name, c := range map[string]struct {
		doc  string
		want string
	}{
		"a text":                {arm(`caller: {service_config: "{}"}`), `x.yaml:4:61: caller.service_config must be a mapping, which can be written as JSON without quotes around it, not "{}"`},
		"a misspelled field":    {arm(`caller: {service_config: {methodConfg: []}}`), `x.yaml:4:62: unknown field "methodConfg" in caller.service_config; did you mean "methodConfig"?`},
		"in a retry policy":     {arm(`caller: {service_config: {methodConfig: [{name: [{}], retryPolicy: {maxAttempts: 3, initialBackoff: 1s, maxBackoff: 1s, backoffMultiplier: 2, retryableStatusCodes: [UNAVAILABLE], maxBackof: 1s}}]}}`), `x.yaml:4:215: unknown field "maxBackof" in methodConfig.retryPolicy; did you mean "maxBackoff"?`},
		"an incomplete policy":  {arm(`caller: {service_config: {methodConfig: [{name: [{}], retryPolicy: {maxAttempts: 3, initialBackoff: 1s, maxBackoff: 1s, backoffMultiplier: 2}}]}}`), "x.yaml:4:103: methodConfig.retryPolicy needs retryableStatusCodes"},
		"no method":             {arm(`caller: {service_config: {methodConfig: [{timeout: 1s}]}}`), "x.yaml:4:77: methodConfig has no name, so it applies to no method: add name: [{}] for all methods"},
		"hedging":               {arm(`caller: {service_config: {methodConfig: [{name: [{}], hedgingPolicy: {}}]}}`), "x.yaml:4:105: no caller of rpclab hedges by a service config: use caller.hedge, of the caller grpc-go"},
		"a policy twice":        {arm(`policy: round_robin, caller: {service_config: {loadBalancingConfig: [{pick_first: {}}]}}`), "x.yaml:4:44: policy and loadBalancingConfig of caller.service_config both set the load balancing policy: remove one of them"},
		"a policy and outliers": {arm(`outlier: {}, caller: {service_config: {loadBalancingPolicy: pick_first}}`), "x.yaml:4:45: outlier and loadBalancingPolicy of caller.service_config both set the load balancing policy: remove one of them"},
		"retries twice":         {arm(`caller: {retry: {}, service_config: {methodConfig: [{name: [{}]}]}}`), "x.yaml:4:52: caller.retry and methodConfig of caller.service_config both set what happens to failed calls: remove one of them"},
		"a client without it":   {arm(`caller: {kind: wire, service_config: {}}`), "x.yaml:4:73: the caller wire has no service config, which a gRPC library reads: use the caller grpc-go"},
		"a control plane":       {strings.Replace(head, "{route: headless}", "{route: kuberesolver, caller: {service_config: {}}}", 1), "x.yaml:4:65: on the route kuberesolver the control plane sends clients their service config, which replaces this one: use another route"},
		"keepalive by wire":     {arm(`caller: {kind: wire, keepalive: {time: 10s}}`), "x.yaml:4:68: the caller wire does not support keepalive: use the caller grpc-go"},
		"frequent keepalive":    {arm(`caller: {keepalive: {time: 1s}}`), "x.yaml:4:63: caller.keepalive.time must be 10s to 1h, not 1s"},
		"keepalive without":     {arm(`caller: {keepalive: {timeout: 1s}}`), "x.yaml:4:56: caller.keepalive needs time (time without data after which the client sends a PING; a server may close the connection if they are more frequent than it allows (too_many_pings))"},
		"refused by grpc-go":    {arm(`caller: {service_config: {loadBalancingConfig: [{no_such_policy: {}}]}}`), "x.yaml:4:61: caller.service_config: no supported policies found in [no_such_policy]: see https://grpc.io/docs/guides/service-config"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("x.yaml", []byte(c.doc), vocabulary)
			if diff := cmp.Diff([]string{c.want}, lines(err)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, c.doc)
			}
		})
	}
}

func TestServiceConfigsAreSwept(t *testing.T) {
	p := mustExpand(t, head+`sweep:
  caller.service_config:
    - {}
    - {"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.5}}
`, Options{Arms: []string{"b"}})
	var got []ServiceConfig
	for _, trial := range p.Trials[:2] {
		got = append(got, trial.Config.Caller.ServiceConfig)
	}
	if diff := cmp.Diff([]ServiceConfig{"{}", `{"retryThrottling":{"maxTokens":10,"tokenRatio":0.5}}`}, got); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"retryThrottling": map[string]any{"maxTokens": 10.0, "tokenRatio": 0.5}}
	caller, _ := p.Trials[1].Config.Map()["caller"].(map[string]any)
	if diff := cmp.Diff(want, caller["service_config"]); diff != "" {
		t.Errorf("the config of the result: %s", diff)
	}
}

package settings

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGivenFieldsReplaceThoseOfTheServiceConfig(t *testing.T) {
	for name, c := range map[string]struct {
		given, want, policy string
	}{
		"none":               {"", `{"loadBalancingConfig":[{"round_robin":{}}]}`, ""},
		"of methods":         {`{"methodConfig":[{"name":[{}],"timeout":"1s"}]}`, `{"loadBalancingConfig":[{"round_robin":{}}],"methodConfig":[{"name":[{}],"timeout":"1s"}]}`, ""},
		"a policy":           {`{"loadBalancingConfig":[{"pick_first":{}}]}`, `{"loadBalancingConfig":[{"pick_first":{}}]}`, PickFirst},
		"a policy by name":   {`{"loadBalancingPolicy":"PICK_FIRST"}`, `{"loadBalancingPolicy":"PICK_FIRST"}`, PickFirst},
		"a policy of rpclab": {`{"loadBalancingConfig":[{"least_request_experimental":{}}]}`, `{"loadBalancingConfig":[{"least_request_experimental":{}}]}`, LeastRequest},
		"outlier detection": {
			`{"loadBalancingConfig":[{"outlier_detection_experimental":{"childPolicy":[{"ring_hash_experimental":{}}]}}]}`,
			`{"loadBalancingConfig":[{"outlier_detection_experimental":{"childPolicy":[{"ring_hash_experimental":{}}]}}]}`, RingHash,
		},
	} {
		s := Settings{ServiceConfigFields: c.given}
		if config, err := s.ServiceConfig(RoundRobin); err != nil || config != c.want {
			t.Errorf("%s: the service config is %s (error %v), want %s", name, config, err, c.want)
		}
		if got := s.ClientPolicy(); got != c.policy {
			t.Errorf("%s: the policy is %q, want %q", name, got, c.policy)
		}
	}
}

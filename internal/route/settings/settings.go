// Package settings has the settings of a route in an experiment: load balancing policy, outlier
// detection, retries, hedging and proxies. They cross processes as JSON.
package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"
)

// Settings are the settings of a route; the zero value is the route's default.
type Settings struct {
	Policy  string   `json:"policy,omitempty"` // one of the policies below; empty: the route's default
	Outlier *Outlier `json:"outlier,omitempty"`
	Proxy   Proxy    `json:"proxy"`
	Retry   *Retry   `json:"retry,omitempty"`
	Hedge   *Hedge   `json:"hedge,omitempty"`
	// ServiceConfigFields is JSON whose fields replace those of the client's service config; empty: none.
	ServiceConfigFields string `json:"service_config_fields,omitempty"`
	// LocalPorts is how many local ports a client has for connections to an address, on the route clusterip; 0: those of
	// the system.
	LocalPorts int `json:"local_ports,omitempty"`
	// ReportUpstream makes rpclab's own Envoy, HAProxy and nginx add [service.UpstreamHeader] to each response.
	ReportUpstream bool `json:"report_upstream,omitempty"`
	// HTTP1 says that calls are HTTP/1.1 requests; false: gRPC.
	HTTP1 bool `json:"http1,omitempty"`
	// TLS is how proxies encrypt connections to backends; nil: clear text. Starting the infrastructure of a route sets it.
	TLS *TLS `json:"tls,omitempty"`
}

// The load balancing policies. Each route supports some of them.
const (
	RoundRobin         = "round_robin"
	LeastRequest       = "least_request" // of two random backends, the one with fewer calls in flight
	LeastConn          = "least_conn"    // of all backends, the one with the fewest calls in flight
	Random             = "random"
	WeightedRoundRobin = "weighted_round_robin" // by the load that backends report (ORCA)
	RingHash           = "ring_hash"
	PickFirst          = "pick_first" // the first address, in a random order
)

// With [WeightedRoundRobin], a backend's weight counts once the backend has reported its load for
// WeightBlackout, and is updated every WeightUpdate. gRPC's defaults, 10 s and 1 s, are longer
// than many trials.
const (
	WeightBlackout = 500 * time.Millisecond
	WeightUpdate   = 250 * time.Millisecond
)

// HashHeader is the metadata key by which [RingHash] picks a backend. Calls without it go to
// random backends. With a control plane, calls without it on one channel go to one backend.
const HashHeader = "hash-key"

// Outlier ejects backends that fail too often (outlier detection).
type Outlier struct {
	Failures float64       `json:"failures"` // share of calls in an interval, 0 to 1
	Calls    int           `json:"calls"`    // in an interval; a backend with fewer is not ejected
	Interval time.Duration `json:"interval"`
	Eject    time.Duration `json:"eject"` // duration of the first ejection
	Most     float64       `json:"most"`  // maximum share of backends ejected at once, 0 to 1
}

// Proxy is how proxies are deployed.
type Proxy struct {
	Sidecar bool `json:"sidecar,omitempty"` // a proxy for each caller; false: one for all callers
	Workers int  `json:"workers"`           // threads or processes, at least 1
}

// Retry repeats failed calls.
type Retry struct {
	Attempts int           `json:"attempts"` // in all, 2 to 5
	Backoff  time.Duration `json:"backoff"`  // before the second attempt, 20 % more or less
	Codes    []string      `json:"codes"`    // to retry, such as UNAVAILABLE
}

// Hedge sends a call again when no answer has arrived after the delay.
type Hedge struct {
	Attempts int           `json:"attempts"` // in all, 2 to 5
	Delay    time.Duration `json:"delay"`
}

// ServiceConfig is gRPC's service config (grpc/doc/service_config.md) for a channel that balances
// calls itself. defaultPolicy is used when the settings name no policy; empty: pick_first.
func (s Settings) ServiceConfig(defaultPolicy string) (string, error) {
	policy := cmp.Or(s.Policy, defaultPolicy)
	config := map[string]any{}
	if policy != "" {
		balancing, err := s.balancing(policy)
		if err != nil {
			return "", err
		}
		config["loadBalancingConfig"] = []any{balancing}
	}
	if methods := s.methods(); methods != nil {
		config["methodConfig"] = []any{methods}
	}
	if s.ServiceConfigFields != "" {
		var fields map[string]any
		if err := json.Unmarshal([]byte(s.ServiceConfigFields), &fields); err != nil {
			return "", fmt.Errorf("service config %s: %w", s.ServiceConfigFields, err)
		}
		if fields["loadBalancingPolicy"] != nil { // which loadBalancingConfig would override
			delete(config, "loadBalancingConfig")
		}
		maps.Copy(config, fields)
	}
	if len(config) == 0 {
		return "", nil
	}
	text, err := json.Marshal(config)
	return string(text), err
}

// ClientPolicy returns the policy that the given fields of the service config select; empty: they select none.
func (s Settings) ClientPolicy() string {
	var config struct {
		LoadBalancingPolicy string
		LoadBalancingConfig []map[string]json.RawMessage
	}
	if json.Unmarshal([]byte(s.ServiceConfigFields), &config) != nil { // empty
		return ""
	}
	for _, entry := range config.LoadBalancingConfig {
		for name, child := range entry {
			switch name {
			case "outlier_detection_experimental":
				var outlier struct{ ChildPolicy json.RawMessage }
				_ = json.Unmarshal(child, &outlier) // grpc-go has checked it
				return Settings{ServiceConfigFields: fmt.Sprintf(`{"loadBalancingConfig": %s}`, outlier.ChildPolicy)}.ClientPolicy()
			case "least_request_experimental":
				return LeastRequest
			case "ring_hash_experimental":
				return RingHash
			}
			return name
		}
	}
	return strings.ToLower(config.LoadBalancingPolicy)
}

// balancing is one entry of loadBalancingConfig, by the names that grpc-go registers.
func (s Settings) balancing(policy string) (map[string]any, error) {
	var child map[string]any
	switch policy {
	case RoundRobin:
		child = map[string]any{policy: map[string]any{}}
	case PickFirst:
		child = map[string]any{policy: map[string]any{"shuffleAddressList": true}}
	case WeightedRoundRobin:
		child = map[string]any{policy: map[string]any{
			"blackoutPeriod": seconds(WeightBlackout), "weightUpdatePeriod": seconds(WeightUpdate),
		}}
	case LeastRequest:
		child = map[string]any{"least_request_experimental": map[string]any{"choiceCount": 2}}
	case RingHash: // gRFC A76
		child = map[string]any{"ring_hash_experimental": map[string]any{"requestHashHeader": HashHeader}}
	default:
		return nil, fmt.Errorf("gRPC clients have no policy %q without a control plane; there are %s", policy,
			strings.Join([]string{RoundRobin, LeastRequest, WeightedRoundRobin, RingHash, PickFirst}, ", "))
	}
	if outlier := s.Outlier; outlier != nil {
		child = map[string]any{"outlier_detection_experimental": map[string]any{
			"interval": seconds(outlier.Interval), "baseEjectionTime": seconds(outlier.Eject),
			"maxEjectionPercent": Percent(outlier.Most),
			"failurePercentageEjection": map[string]any{
				"threshold": Percent(outlier.Failures), "enforcementPercentage": 100, "minimumHosts": 1, "requestVolume": outlier.Calls,
			},
			"childPolicy": []any{child},
		}}
	}
	return child, nil
}

// methods is the methodConfig for all methods; nil: neither retries nor hedging.
func (s Settings) methods() map[string]any {
	config := map[string]any{"name": []any{map[string]any{}}}
	switch {
	case s.Retry != nil:
		config["retryPolicy"] = map[string]any{
			"maxAttempts": s.Retry.Attempts, "initialBackoff": seconds(s.Retry.Backoff),
			"maxBackoff": seconds(10 * s.Retry.Backoff), "backoffMultiplier": 2, "retryableStatusCodes": s.Retry.Codes,
		}
	case s.Hedge != nil:
		config["hedgingPolicy"] = map[string]any{
			"maxAttempts": s.Hedge.Attempts, "hedgingDelay": seconds(s.Hedge.Delay), "nonFatalStatusCodes": []string{"UNAVAILABLE"},
		}
	default:
		return nil
	}
	return config
}

// Percent is a share as a whole number of per cent, the form of service configs and xDS.
func Percent(share float64) int { return int(math.Round(100 * share)) }

// seconds is a duration in protobuf's JSON format: 0.5s.
func seconds(d time.Duration) string {
	text := strings.TrimRight(fmt.Sprintf("%.9f", d.Seconds()), "0")
	return strings.TrimSuffix(text, ".") + "s"
}

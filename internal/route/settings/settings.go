// Package settings are what an experiment says of a route: how calls are spread, retried
// and hedged, which backends are left out, and how proxies stand. They cross processes
// as JSON.
package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Settings of a route; the zero value is the route's own way.
type Settings struct {
	Policy  string   `json:"policy,omitempty"` // one of the policies below; empty: the route's own
	Outlier *Outlier `json:"outlier,omitempty"`
	Proxy   Proxy    `json:"proxy"`
	Retry   *Retry   `json:"retry,omitempty"`
	Hedge   *Hedge   `json:"hedge,omitempty"`
}

// The policies. A route knows some of them.
const (
	RoundRobin         = "round_robin"
	LeastRequest       = "least_request" // the one of two at random that has fewer calls in flight
	LeastConn          = "least_conn"    // of all, the one that has the fewest calls in flight
	Random             = "random"
	WeightedRoundRobin = "weighted_round_robin" // by the load that backends report (ORCA)
	RingHash           = "ring_hash"
	PickFirst          = "pick_first" // of the addresses in a random order
)

// Weights of [WeightedRoundRobin] count when a backend has reported for so long, and
// are taken anew so often. gRPC's own 10 s and 1 s are for services that live for days.
const (
	WeightBlackout = 500 * time.Millisecond
	WeightUpdate   = 250 * time.Millisecond
)

// HashHeader is the metadata by which [RingHash] chooses a backend. Calls without it go
// to random ones or, where a control plane can say so, to the same if they share a channel.
const HashHeader = "hash-key"

// Outlier leaves out backends that fail more often than they may.
type Outlier struct {
	Failures float64       `json:"failures"` // share of calls in an interval, 0 to 1
	Calls    int           `json:"calls"`    // in an interval, under which a backend is not judged
	Interval time.Duration `json:"interval"`
	Eject    time.Duration `json:"eject"` // the first time
	Most     float64       `json:"most"`  // share of backends left out at once, 0 to 1
}

// Proxy says how a proxy stands.
type Proxy struct {
	Sidecar bool `json:"sidecar,omitempty"` // one for each caller; false: one for all
	Workers int  `json:"workers"`           // threads or processes, at least 1
}

// Retry tries failed calls again.
type Retry struct {
	Attempts int           `json:"attempts"` // in all, 2 to 5
	Backoff  time.Duration `json:"backoff"`  // before the second attempt, 20 % more or less
	Codes    []string      `json:"codes"`    // UNAVAILABLE
}

// Hedge makes a call again that has no answer yet.
type Hedge struct {
	Attempts int           `json:"attempts"` // in all, 2 to 5
	Delay    time.Duration `json:"delay"`
}

// ServiceConfig is gRPC's service config (grpc/doc/service_config.md) for a channel
// that balances by itself: own is the route's own policy.
func (s Settings) ServiceConfig(own string) (string, error) {
	policy := s.Policy
	if policy == "" {
		policy = own
	}
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
	if len(config) == 0 {
		return "", nil
	}
	text, err := json.Marshal(config)
	return string(text), err
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
		return nil, fmt.Errorf("gRPC clients have no policy %q without a control plane", policy)
	}
	if o := s.Outlier; o != nil {
		child = map[string]any{"outlier_detection_experimental": map[string]any{
			"interval": seconds(o.Interval), "baseEjectionTime": seconds(o.Eject),
			"maxEjectionPercent": Percent(o.Most),
			"failurePercentageEjection": map[string]any{
				"threshold": Percent(o.Failures), "enforcementPercentage": 100, "minimumHosts": 1, "requestVolume": o.Calls,
			},
			"childPolicy": []any{child},
		}}
	}
	return child, nil
}

// methods is the methodConfig of every method; nil: there is nothing to say.
func (s Settings) methods() map[string]any {
	all := map[string]any{"name": []any{map[string]any{}}}
	switch {
	case s.Retry != nil:
		all["retryPolicy"] = map[string]any{
			"maxAttempts": s.Retry.Attempts, "initialBackoff": seconds(s.Retry.Backoff),
			"maxBackoff": seconds(10 * s.Retry.Backoff), "backoffMultiplier": 2, "retryableStatusCodes": s.Retry.Codes,
		}
	case s.Hedge != nil:
		all["hedgingPolicy"] = map[string]any{
			"maxAttempts": s.Hedge.Attempts, "hedgingDelay": seconds(s.Hedge.Delay), "nonFatalStatusCodes": []string{"UNAVAILABLE"},
		}
	default:
		return nil
	}
	return all
}

// Percent is a share as a whole number of hundredths, which service configs and xDS want.
func Percent(share float64) int { return int(math.Round(100 * share)) }

// seconds is a duration as protobuf's JSON has it: 0.5s.
func seconds(d time.Duration) string {
	text := strings.TrimRight(fmt.Sprintf("%.9f", d.Seconds()), "0")
	return strings.TrimSuffix(text, ".") + "s"
}

package lab

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/pace"
	"rpclab/internal/security"
)

func TestServerArgumentsOmitDefaults(t *testing.T) {
	greet := experiment.Workload{Greet: &experiment.Greet{Delay: time.Second}}
	limited := experiment.Workload{Greet: &experiment.Greet{Workers: 7}}
	for name, c := range map[string]struct {
		config experiment.Config
		want   []string
	}{
		"no arguments that some languages lack":        {experiment.Config{Workload: greet}, []string{"--delay", "1s"}},
		"workers":                                      {experiment.Config{Workload: greet, Server: experiment.Server{Workers: 3}}, []string{"--delay", "1s", "--workers", "3"}},
		"workers of the greeter":                       {experiment.Config{Workload: limited}, []string{"--delay", "0s", "--workers", "7"}},
		"workers of both, of which the server's count": {experiment.Config{Workload: limited, Server: experiment.Server{Workers: 3}}, []string{"--delay", "0s", "--workers", "3"}},
		"the age of connections": {experiment.Config{Workload: greet, Server: experiment.Server{MaxAge: time.Minute, AgeGrace: 2 * time.Second}},
			[]string{"--delay", "1s", "--max-age", "1m0s", "--age-grace", "2s"}},
	} {
		if got := serverArgs(c.config, "", security.Policy{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// resolved completes the names that a trial leaves out and resolves it.
func resolved(t *testing.T, planned experiment.Trial) trial {
	t.Helper()
	planned.Config.Route = cmp.Or(planned.Config.Route, "direct")
	planned.Config.Caller.Kind = cmp.Or(planned.Config.Caller.Kind, "grpc-go")
	planned.Config.Server.Language = cmp.Or(planned.Config.Server.Language, language.Go)
	if g := planned.Config.Gateway; g != nil {
		g.Language = cmp.Or(g.Language, language.Go)
	}
	trial, err := resolver{}.trial(planned)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

// A client of the user's may ignore the service config, so its policy is not known unless its control plane sets it.
func TestThePolicyOfAClientOfTheUserIsNotKnown(t *testing.T) {
	for _, c := range []struct{ route, set, want string }{
		{"headless", "", ""}, {"envoy", "", "round_robin"}, {"xds", "", "round_robin"}, {"xds", "least_request", "least_request"},
	} {
		planned := experiment.Trial{Config: experiment.Config{Route: c.route, Policy: c.set}}
		planned.Config.Caller.Command = []string{"./client"}
		if got := resolved(t, planned).policy; got != c.want {
			t.Errorf("route %s, policy %q: it is %q, want %q", c.route, c.set, got, c.want)
		}
	}
}

func TestServersReportTheirLoadForThePolicyOfAServiceConfig(t *testing.T) {
	const document = "experiment: load\nquestion: q?\ndefaults: {workload: {greet: {}}, server: {replicas: 2}, load: {burst: 10}, route: headless}\narms: {a: {caller: {service_config: %s}}, b: {}}\n"
	for config, want := range map[string]bool{
		`{loadBalancingConfig: [{weighted_round_robin: {}}]}`:                                                                  true,
		`{loadBalancingConfig: [{outlier_detection_experimental: {childPolicy: [{weighted_round_robin: {}}]}}]}`:               true,
		`{loadBalancingConfig: [{round_robin: {}}], healthCheckConfig: {serviceName: weighted_round_robin}}`:                   false,
		`{loadBalancingConfig: [{round_robin: {}}], methodConfig: [{name: [{service: weighted_round_robin}], timeout: "1s"}]}`: false,
	} {
		e, err := experiment.Expand("x.yaml", fmt.Appendf(nil, document, config), experiment.Options{}, Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Resolve(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range plan.trials {
			if got := slices.Contains(of.server.Args, "--report-load"); got != (want && of.Arm == "a") {
				t.Errorf("%s: arm %s: servers report their load: %t", config, of.Arm, got)
			}
		}
	}
}

func TestALoadHasTimeForItsRamp(t *testing.T) {
	c := experiment.Config{Load: experiment.Load{Closed: &experiment.Closed{Users: 100, Calls: 100, Ramp: 10 * time.Minute}}}
	if got := loadTimeout(c); got <= 10*time.Minute {
		t.Errorf("the load may take %v, want longer than its ramp of 10 min", got)
	}
}

func TestACallerHasItsShareOfTheUsersOnStreams(t *testing.T) {
	users := func(c experiment.Config) int {
		c.Caller.Stream = &experiment.Stream{}
		return callerJob(c, language.Model{}).Stream.Users
	}
	if n := users(experiment.Config{Callers: 2, Load: experiment.Load{Closed: &experiment.Closed{Users: 6}}}); n != 3 {
		t.Errorf("each of 2 callers has %d of 6 users", n)
	}
	if n := users(experiment.Config{Load: experiment.Load{Sequence: 9}}); n != 1 {
		t.Errorf("a sequence has %d users", n)
	}
}

func TestASearchWarmsUpAtItsLowestRate(t *testing.T) {
	search := experiment.Search{From: 50, To: 800, Duration: 2 * time.Second, MaxInFlight: 30, Arrivals: "poisson"}
	got, err := resolved(t, experiment.Trial{Config: experiment.Config{
		Workload: experiment.Workload{Greet: &experiment.Greet{}}, Load: experiment.Load{Search: &search},
	}}).load.Pace()
	rate, ok := got.(pace.Rate)
	if rate.Seed = 0; err != nil || !ok || rate != (pace.Rate{PerSecond: 50, Duration: 2 * time.Second, Max: 30, Poisson: true}) {
		t.Errorf("the warm-up is %+v, error %v", got, err)
	}
}

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
)

func TestNumberOfFilesThatOneProcessNeeds(t *testing.T) {
	for _, c := range []struct {
		route, mode string
		pool, want  int
	}{
		{"clusterip", "shared", 0, 1 + spareFiles},
		{"endpointslice", "shared", 0, 10 + spareFiles}, // after the scale-up
		{"clusterip", "pool", 16, 16 + spareFiles},
		{"clusterip", "per-call", 0, 2_000 + spareFiles},
		{"forwarder", "shared", 0, 6 + spareFiles}, // the forwarder's
		{"endpointslice", "per-call", 0, 20_000 + spareFiles},
		{"kuberesolver", "per-call", 0, 22_000 + spareFiles}, // and a watch for each
		{"envoy", "pool", 16, 16 + 2_000/1024 + 2*(10+8) + spareFiles},
		{"haproxy", "pool", 16, 2*16 + 2_000/100 + 2*10 + spareFiles},
		{"nginx", "shared", 0, 1 + 2_000 + 320 + spareFiles}, // a connection carries one call
	} {
		config := experiment.Config{
			Route: c.route, Proxy: &experiment.Proxy{Workers: 2}, Server: experiment.Server{Replicas: 3}, Load: experiment.Load{Burst: 2_000},
			Caller: experiment.Caller{Channel: experiment.Channel{Mode: c.mode, Pool: c.pool}},
		}
		if got, why := filesNeeded(resolved(t, experiment.Trial{Config: config, Events: []experiment.Event{{Scale: 10}, {Scale: 2}}})); got != c.want {
			t.Errorf("%s, %s: %d (%s), want %d", c.route, c.mode, got, why, c.want)
		}
	}
}

// Over HTTP/1.1 and bare TCP each call in flight has a connection.
func TestCallsThatShareNoConnectionNeedAFileEach(t *testing.T) {
	for _, c := range []struct {
		route, caller, model, mode string
		http2                      bool
		want                       int
	}{
		{"direct", "http", "rest", "shared", false, 6_000 + spareFiles},
		{"clusterip", "wire", "rest", "shared", false, 6_000 + spareFiles},
		{"forwarder", "http", "rest", "shared", false, 6*6_000 + spareFiles},
		{"envoy", "http", "rest", "shared", false, 2*6_000 + 8 + spareFiles},
		{"direct", "http", "rest", "shared", true, 1 + spareFiles},
		{"direct", "http", "rest", "per-user", true, 6_000 + spareFiles},
		{"direct", "tcp", "tcp", "shared", false, 6_000 + spareFiles},
		{"direct", "grpc-go", "grpc", "shared", false, 1 + spareFiles},
		{"direct", "grpc-go", "grpc", "per-user", false, 6_000 + spareFiles},
		{"headless", "grpc-go", "grpc", "per-user", false, 18_000 + spareFiles},
		{"nginx", "grpc-go", "grpc", "per-user", false, 12_000 + 320 + spareFiles},
	} {
		config := experiment.Config{
			Route: c.route, Server: experiment.Server{Model: c.model, Replicas: 3}, Load: experiment.Load{Closed: &experiment.Closed{Users: 6_000}},
			Caller: experiment.Caller{Kind: c.caller, HTTP2: c.http2, Channel: experiment.Channel{Mode: c.mode}},
		}
		if got, why := filesNeeded(resolved(t, experiment.Trial{Config: config})); got != c.want {
			t.Errorf("%s to %s by %s, %s, http2 %t: %d (%s), want %d", c.caller, c.model, c.route, c.mode, c.http2, got, why, c.want)
		}
	}
}

func TestNumberOfFilesThatAGatewayNeeds(t *testing.T) {
	for _, c := range []struct {
		model, route string
		want         int
	}{
		{"threads", "endpointslice", 400 + 3 + spareFiles},
		{"async", "endpointslice", 400 + 256*3 + spareFiles}, // handles 256 requests at a time
		{"threads", "nginx", 400 + 1 + 256 + 320 + spareFiles},
	} {
		config := experiment.Config{
			Route: c.route, Gateway: &experiment.Gateway{Model: c.model}, Server: experiment.Server{Replicas: 3},
			Load: experiment.Load{Closed: &experiment.Closed{Users: 400}},
		}
		if got, why := filesNeeded(resolved(t, experiment.Trial{Config: config})); got != c.want {
			t.Errorf("%s, %s: %d (%s), want %d", c.model, c.route, got, why, c.want)
		}
	}
}

// An open load of 100 calls cannot have 10,000 calls in flight, even if max_in_flight allows that.
func TestAnOpenLoadNeedsNoMoreFilesThanItHasCalls(t *testing.T) {
	open := &experiment.Open{Rate: 100, Duration: time.Second, MaxInFlight: 10_000}
	if got := maxInFlight(experiment.Load{Open: open}); got != 150 {
		t.Errorf("%d calls in flight", got)
	}
	open.MaxInFlight = 20
	if got := maxInFlight(experiment.Load{Open: open}); got != 20 {
		t.Errorf("%d calls in flight of 20", got)
	}
}

func TestTooManyConnectionsForTheConfigurationOfAProxyAreAnError(t *testing.T) {
	mine := resolved(t, experiment.Trial{Arm: "mine", Config: experiment.Config{
		Route: "nginx", Load: experiment.Load{Burst: 16_100},
	}})
	err := checkFiles([]trial{mine}, 1_000_000)
	want := "too few open files: arm mine (burst of 16100) needs 16485 in one process, " +
		"a worker of nginx, for 1 channels at once and a connection for each of 16100 calls in flight; it is configured for 16384.\n" +
		"Make the load smaller with --set, such as --set load.open.max_in_flight=1000"
	if err == nil || strings.ReplaceAll(err.Error(), ",100", "100") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Without the check, rpclab itself would lack files in the middle of a run.
func TestARunOfManyProcessesNeedsFilesForEach(t *testing.T) {
	mine := experiment.Trial{Arm: "mine", Config: experiment.Config{Route: "clusterip", Server: experiment.Server{Replicas: 100}, Load: experiment.Load{Burst: 1}}}
	if err := checkFiles([]trial{resolved(t, mine)}, 600); err != nil {
		t.Error(err)
	}
	mine.Events = []experiment.Event{{Scale: 200}}
	err := checkFiles([]trial{resolved(t, mine)}, 600)
	want := "too few open files: arm mine needs 2089 in rpclab itself, for up to 405 backends, callers and proxies; the hard limit here is 600.\n" +
		"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or start fewer with --set server.replicas=3"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestArmsThatTakeTurnsNeedFilesForTheProcessesOfAll(t *testing.T) {
	one := resolved(t, experiment.Trial{Arm: "one", Round: 1, Config: experiment.Config{Route: "clusterip", Server: experiment.Server{Replicas: 60}, Load: experiment.Load{Burst: 1}}})
	other := one
	one.armNumber, other.armNumber = 1, 2
	err := checkFiles([]trial{one, other}, 600)
	want := "too few open files: arm one needs 714 in rpclab itself, for up to 130 backends, callers and proxies; the hard limit here is 600.\n" +
		"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or start fewer with --arms, or --set design=isolated, with which one arm is up at a time"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	one.armNumber = 0
	if err := checkFiles([]trial{one}, 600); err != nil {
		t.Error(err)
	}
}

func TestTheErrorOfTooManyFilesHasTheirNumberAndReason(t *testing.T) {
	mine := resolved(t, experiment.Trial{Arm: "mine", Config: experiment.Config{
		Route: "clusterip", Load: experiment.Load{Burst: 30_000},
		Caller: experiment.Caller{Channel: experiment.Channel{Mode: "per-call"}},
	}})
	err := checkFiles([]trial{mine}, 20_000)
	want := "too few open files: arm mine (burst of 30000) needs 30064 in one process, " +
		"for 30000 channels at once with 1 connections each; the hard limit here is 20000.\n" +
		"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set"
	if err == nil || strings.ReplaceAll(err.Error(), ",000", "000") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFilesOfPodsAreReadAndLimited(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small": 10, "large": maxFiles} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, files := range map[string]map[string]string{
		"": {"/a": "small", "/b": "small"},
		"server.files have more than 1048576 bytes, the size of a Secret: put large files into the image": {"/a": "small", "/b": "large"},
		"server.files, /a: open": {"/a": "missing"},
	} {
		for inside, name := range files {
			files[inside] = filepath.Join(dir, name)
		}
		read, err := readFiles(files)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", files, err, want)
		}
		if err == nil && len(read["/b"]) != 10 {
			t.Errorf("the file has %d bytes, want 10", len(read["/b"]))
		}
	}
}

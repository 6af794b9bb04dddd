package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/service/method"
	"rpclab/internal/testkit"
)

func TestOnlyExperimentsWithinTheLimitsAreStarted(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]string{
		`{"experiment":"../../etc/passwd"}`:                   "offers no experiment",
		`{"experiment":"/tmp/mine.yaml"}`:                     "add files with --experiment when you start the server",
		`{"experiment":"channels"}`:                           "known names: load, small",
		`{"experiment":"smal"}`:                               "small",
		`{}`:                                                  "no experiment",
		`{"experiment":"small","arms":["three"]}`:             `no arm "three"`,
		`{"experiment":"small","rounds":31}`:                  "use 1 to 30",
		`{"experiment":"small","rounds":-1}`:                  "use 1 to 30",
		`{"experiment":"small","set":["load.burst=1000000"]}`: `unknown field "set"`,
		`{"experiment":"small"}{"experiment":"small"}`:        "more data follows",
		`[`: "cannot be read",
		`{"experiment":"small","arms":["` + strings.Repeat("x", 33<<10) + `"]}`: "too large",
	} {
		status, text := s.request(t, http.MethodPost, "/api/v1/runs", body, nil)
		if status != http.StatusBadRequest || !strings.Contains(text, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%.80s: status %d %s, want 400 and %s", body, status, text, want)
		}
	}
	if phase := s.state(t).Phase; phase != "idle" {
		t.Errorf("the phase is %s, want idle: no run may start", phase)
	}
}

func TestRunsThatTakeTooLongAreNotStartedFromThePage(t *testing.T) {
	long := "experiment: long\nquestion: How long?\ndefaults: {workload: {greet: {delay: 1ms}}, load: {open: {rate: 1, duration: %s}}}\n" +
		"arms: {one: {route: clusterip}}\nrounds: %d\n"
	for want, doc := range map[string]string{"of load": fmt.Sprintf(long, "1h", 3), "": fmt.Sprintf(long, "1h", 2), "trials": fmt.Sprintf(long, "1s", 1000) + "sweep: {load.open.rate: [1, 2, 3]}\n"} {
		plan, err := experiment.Expand("long.yaml", []byte(doc), experiment.Options{}, lab.Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLimits(plan); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("checkLimits returned %v, want %q", err, want)
		}
	}
}

// A page starts the same run as `rpclab run` without flags.
func TestARunOfThePageEndsWhenItIsDecided(t *testing.T) {
	doc := func(rounds int, duration string) string {
		return fmt.Sprintf("experiment: two\nquestion: Which?\ndefaults: {workload: {greet: {delay: 1ms}}, load: {open: {rate: 1, duration: %s}}}\n"+
			"arms: {one: {route: clusterip}, two: {route: endpointslice}}\nrounds: %d\n", duration, rounds)
	}
	for _, c := range []struct {
		name    string
		doc     string
		o       experiment.Options
		looks   []int
		command string
	}{
		{"as the experiment says", doc(5, "1s"), experiment.Options{}, []int{5, 10}, "rpclab run two.yaml --until decided"},
		{"more rounds than a page allows", doc(20, "1s"), experiment.Options{}, []int{20, 30}, "rpclab run two.yaml --until decided --max-rounds 30"},
		{"fixed rounds", doc(5, "1s"), experiment.Options{Rounds: 6}, nil, "rpclab run two.yaml --rounds 6"},
		{"quick", doc(5, "1s"), experiment.Options{Quick: true}, nil, "rpclab run two.yaml --quick"},
		{"too few rounds for a verdict", doc(3, "1s"), experiment.Options{}, nil, "rpclab run two.yaml"},
		{"twice the rounds take too long", doc(5, "10m"), experiment.Options{}, nil, "rpclab run two.yaml --rounds 5"},
	} {
		plan, err := planUntilDecided(Experiment{Name: "two", RunName: "two.yaml", File: "two.yaml", Doc: []byte(c.doc)}, &c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if command, _, _ := strings.Cut(c.o.Command("two.yaml"), " --seed"); !slices.Equal(plan.Looks, c.looks) || command != c.command {
			t.Errorf("%s: looks after %v rounds, %q; want %v, %q", c.name, plan.Looks, command, c.looks, c.command)
		}
	}
}

func TestEveryBuiltInExperimentIsWithinTheLimitsWhenQuick(t *testing.T) {
	for _, name := range experiments.Names() {
		file, doc, err := experiments.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := experiment.Expand(file, doc, experiment.Options{Quick: true}, lab.Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLimits(plan); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two runs at the same time would disturb each other's measurements.
func TestOneRunIsInProgressWhileOthersAreQueued(t *testing.T) {
	s := serve(t, nil)
	first := s.begin(t)
	s.steps <- trial(0) // the run takes a step only after it is stored
	var queued []string
	for range maxQueued {
		queued = append(queued, s.begin(t))
	}
	if status, text := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, nil); status != http.StatusTooManyRequests {
		t.Errorf("one run more than the queue holds gets status %d %s, want 429", status, text)
	}
	state := s.awaitPhase(t, "running")
	if state.Run.ID != first || len(state.Queue) != maxQueued || state.Queue[0].ID != queued[0] || state.Queue[0].Planned != 4 {
		t.Errorf("the state is %+v, want run %s in progress and the queue %v", state, first, queued)
	}
	for _, id := range queued[1:] {
		if status, text := s.request(t, http.MethodPost, "/api/v1/runs/"+id+"/stop", "", nil); status != http.StatusAccepted {
			t.Errorf("stopping a queued run has status %d %s, want 202", status, text)
		}
	}
	if status, _ := s.request(t, http.MethodPost, "/api/v1/runs/"+queued[1]+"/stop", "", nil); status != http.StatusNotFound {
		t.Errorf("stopping a run that is neither in progress nor queued has status %d, want 404", status)
	}
	if status, _ := s.request(t, http.MethodPost, "/api/v1/runs/"+first+"/stop", "", nil); status != http.StatusAccepted {
		t.Errorf("stopping the run in progress has status %d, want 202", status)
	}
	testkit.Await(t, "the next run starts", func() bool {
		state := s.state(t)
		return state.Phase == "running" && state.Run.ID == queued[0] && len(state.Queue) == 0
	})
	if d, complete, err := s.store.Get(t.Context(), first); err != nil || !complete || !d.Partial {
		t.Errorf("the stopped run is stored: complete %v, partial %v, %v; want a complete document that is partial", complete, d.Partial, err)
	}
}

// A run that fails is not stored, so the page keeps its reason while the runs behind it go on.
func TestAFailedRunIsShownWhileOthersFollow(t *testing.T) {
	ends := make(chan error)
	s := serve(t, func(o *Options) {
		o.Conduct = func(ctx context.Context, _ Run, _ func(lab.Progress)) (result.Document, error) {
			select {
			case err := <-ends:
				return result.Document{}, err
			case <-ctx.Done():
				return result.Document{}, ctx.Err()
			}
		}
	})
	first, second := s.begin(t), s.begin(t)
	ends <- errors.New("/home/ann/shop/server does not start")
	testkit.Await(t, "the second run is in progress", func() bool { return s.state(t).Run.ID == second })
	want := []failedRun{{first, "small", "…/server does not start"}}
	if got := s.state(t).FailedRuns; !slices.Equal(got, want) {
		t.Errorf("while the second run is in progress the failed runs are %+v, want %+v", got, want)
	}
	ends <- nil
	testkit.Await(t, "the second run has ended", func() bool { return s.state(t).Phase == "done" })
	testkit.Await(t, "a run that was not queued forgets the failed runs", func() bool { // one that begins too early is queued
		third := s.begin(t)
		testkit.Await(t, "the third run is in progress", func() bool { return s.state(t).Run.ID == third })
		forgotten := len(s.state(t).FailedRuns) == 0
		ends <- nil
		testkit.Await(t, "the third run has ended", func() bool { return s.state(t).Phase == "done" })
		return forgotten
	})
}

func TestTheRunInProgressIsStoredWhenTheServerStops(t *testing.T) {
	s := serve(t, nil)
	id, queued := s.begin(t), s.begin(t)
	s.steps <- trial(0) // the run takes a step only after it is stored
	s.Close()
	if d, complete, err := s.store.Get(t.Context(), id); err != nil || !complete || !d.Partial || !strings.HasPrefix(d.Command, "rpclab run ./small.yaml --seed ") {
		t.Errorf("the run is stored: complete %v, partial %v, %v, command %s; want a complete document that is partial, with its command", complete, d.Partial, err, d.Command)
	}
	if _, _, err := s.store.Get(t.Context(), queued); err == nil {
		t.Error("the queued run was started")
	}
	if status, _ := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, nil); status != http.StatusServiceUnavailable {
		t.Errorf("starting a run after Close has status %d, want 503", status)
	}
}

func TestAReadOnlyPageStartsNoRun(t *testing.T) {
	s := serve(t, func(o *Options) { o.Conduct = nil })
	if status, _ := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, nil); status != http.StatusForbidden {
		t.Errorf("starting a run has status %d, want 403", status)
	}
	if text := s.get(t, "/api/v1/experiments"); !strings.Contains(text, `"experiments":[]`) {
		t.Errorf("the page offers %s, want no experiments", text)
	}
}

// A page may call what the server was started with and what runs on this machine, but start no program,
// read no file and call no other machine.
func TestOnlyServicesWithinTheLimitsAreMeasured(t *testing.T) {
	s := serve(t, func(o *Options) {
		o.Draft = func(context.Context, string) ([]byte, error) { return nil, errors.New("no server") }
	})
	file := func(changes ...string) string {
		text := "service: hello\nserver: {addresses: [127.0.0.1:1]}\ncalls: {hello: {method: a.B/C, data: {}}}\n"
		return strings.NewReplacer(changes...).Replace(text)
	}
	for text, want := range map[string]string{
		file("addresses: [127.0.0.1:1]", "command: [sh]"):                         "start no program",
		file("127.0.0.1:1", "10.0.0.1:1"):                                         "10.0.0.1:1 is not on this machine",
		file("127.0.0.1:1", "127.0.0.1:1, example.org:443"):                       "example.org:443 is not on this machine",
		file("data: {}", `data: "@/etc/passwd"`):                                  "cannot name files",
		file() + "proto: [/etc/passwd]\n":                                         "cannot name files",
		file() + "tls: {cacert: /etc/passwd}\n":                                   "cannot name files",
		file("service: hello", "service: hello\nx: "+strings.Repeat("y", 17<<10)): "at most 16384",
		file("data: {}", `data: {a: "{{range 1000000000}}x{{end}}"}`):             "the templates in a service file that a page sends are",
		file("data: {}", `data: {a: "\x7b\x7brange 10}}x\x7b\x7bend}}"}`):         "the templates in a service file that a page sends are",
		"x": "the service must be a mapping",
	} {
		body, err := json.Marshal(map[string]any{"experiment": "load", "rate": 1, "duration_s": 1, "service_text": text})
		if err != nil {
			t.Fatal(err)
		}
		status, answer := s.request(t, http.MethodPost, "/api/v1/runs", string(body), nil)
		if status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%.80s: status %d %s, want 400 and %s", text, status, answer, want)
		}
	}
	two := strings.ReplaceAll(file("calls: {", "calls: {again: {method: a.B/C, data: {}}, "), "\n", `\n`)
	for body, want := range map[string]string{
		`{"experiment":"load","rate":10,"duration_s":1,"quick":true}`:                                                              "a load is not scaled down",
		`{"experiment":"channels","rate":10}`:                                                                                      "are those of a load",
		`{"experiment":"load","rate":10,"duration_s":1}`:                                                                           "a load needs a service",
		`{"experiment":"load","rate":10,"duration_s":1,"service":"hell"}`:                                                          "offers no service",
		`{"experiment":"load","rate":1e9,"duration_s":1,"service_text":"` + strings.ReplaceAll(file(), "\n", `\n`) + `"}`:          "use a rate up to 20000 calls/s",
		`{"experiment":"load","rate":10,"duration_s":1,"mix":{"a":"1"}}`:                                                           "choose a service",
		`{"experiment":"load","rate":10,"duration_s":1,"call":"hello","mix":{"hello":"1"},"service_text":"` + two + `"}`:           "--call makes one call and --mix several",
		`{"experiment":"load","rate":10,"duration_s":1,"flow":["hello","again"],"mix":{"hello":"1"},"service_text":"` + two + `"}`: "--flow makes its calls in their order",
		`{"experiment":"load","rate":10,"duration_s":1,"mix":{"helo":"1","again":"1"},"service_text":"` + two + `"}`:               `no call \"helo\"; did you mean \"hello\"?`,
		`{"experiment":"load","rate":10,"duration_s":1,"mix":{"hello":"80%","again":"30%"},"service_text":"` + two + `"}`:          "add up to 110 %, not 100 %",
		`{"experiment":"load","rate":10,"duration_s":1,"flow":["hello"],"service_text":"` + two + `"}`:                             "needs at least two calls",
		`{"experiment":"load","rate":10001,"duration_s":1,"flow":["hello","again"],"service_text":"` + two + `"}`:                  "10001 flows/s of 2 calls are 20002 calls/s; a page can start at most 20000 calls/s",
		`{"experiment":"small","flow":["` + strings.Repeat(`hello","`, 16) + `hello"],"service_text":"` + two + `"}`:               "the flow has 17 calls; a page can start at most 16",
		`{"experiment":"load","rate":10,"duration_s":601,"service_text":"` + strings.ReplaceAll(file(), "\n", `\n`) + `"}`:         "a duration up to 10m",
	} {
		status, answer := s.request(t, http.MethodPost, "/api/v1/runs", body, nil)
		if status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%.80s: status %d %s, want 400 and %s", body, status, answer, want)
		}
	}
	for address, want := range map[string]string{"10.0.0.1:1": "is not on this machine", "here": "is no address", "127.0.0.1:1": "no server"} {
		status, answer := s.request(t, http.MethodPost, "/api/v1/services/draft", `{"address":"`+address+`"}`, nil)
		if status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("draft of %s: status %d %s, want 400 and %s", address, status, answer, want)
		}
	}
	if phase := s.state(t).Phase; phase != "idle" {
		t.Errorf("the phase is %s, want idle: no run may start", phase)
	}
}

// A user of the page has no flags of rpclab init.
func TestErrorsOfDraftsSayWhatAUserOfThePageCanDo(t *testing.T) {
	silent := startGRPC(t, grpc.NewServer())
	locked := startGRPC(t, grpc.NewServer(grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		return status.Error(codes.Unauthenticated, "no token")
	}), grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return nil })))
	s := serve(t, func(o *Options) {
		o.Draft = func(ctx context.Context, address string) ([]byte, error) {
			channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return nil, err
			}
			defer channel.Close()
			_, err = method.FromServer(channel, nil).Services(ctx)
			return nil, err
		}
	})
	for address, want := range map[string]string{
		silent: "the server has no reflection service; run `rpclab init " + silent + " --proto FILE > service.yaml`, and start this page with `rpclab serve --service service.yaml`",
		locked: "server reflection: no token (Unauthenticated); run `rpclab init " + locked + " --metadata 'KEY: VALUE' > service.yaml`, and start this page with `rpclab serve --service service.yaml`",
	} {
		code, answer := s.request(t, http.MethodPost, "/api/v1/services/draft", `{"address":"`+address+`"}`, nil)
		var said struct{ Detail string }
		if err := json.Unmarshal([]byte(answer), &said); err != nil || code != http.StatusBadRequest || said.Detail != want {
			t.Errorf("status %d %s, want 400 and %s", code, answer, want)
		}
	}
}

func startGRPC(t *testing.T, server *grpc.Server) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until it is stopped
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return listener.Addr().String()
}

func TestTheCommandOfALoadRepeatsIt(t *testing.T) {
	for want, request := range map[string]startRequest{
		"rpclab load --service orders.yaml --rate 50 --duration 1.5s --seed 7":                          {Rate: 50, DurationS: 1.5},
		"rpclab load --service orders.yaml --call get --rate 20000 --duration 600s --rounds 2 --seed 7": {Call: "get", Rate: 20_000, DurationS: 600, Rounds: 2},
		"rpclab load --service orders.yaml --mix get=80%,list=20% --rate 1 --duration 1s --seed 7":      {Mix: map[string]string{"list": "20%", "get": "80%"}, Rate: 1, DurationS: 1},
		"rpclab load --service orders.yaml --flow login,get --rate 1 --duration 1s --seed 7":            {Flow: []string{"login", "get"}, Rate: 1, DurationS: 1},
	} {
		if got := loadCommand(request, "orders.yaml", 7); got != want {
			t.Errorf("the command is %q, want %q", got, want)
		}
	}
}

// Lost calls count as their deadline, so that of a load on the page is that of its command.
func TestALoadOfThePageHasTheDeadlineOfItsCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "service.yaml")
	text := "service: orders\nserver: {addresses: [\"127.0.0.1:50051\"]}\ncalls: {get: {http: GET, path: /orders}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	load, err := loadOf(startRequest{Rate: 1, DurationS: 1}, &experiment.ServiceDocument{File: file, Text: []byte(text)})
	if err != nil || !strings.Contains(string(load.Doc), `"timeout":"20s"`) {
		t.Errorf("the load is %s (error %v), want a timeout of 20s", load.Doc, err)
	}
}

// Such a run would restart the program of the page in another network.
func TestAPageStartsNoExperimentThatDropsPackets(t *testing.T) {
	text := small + "events: [{at: 100ms, cut: {backends: 1, how: blackhole}}]\n"
	s := serve(t, func(o *Options) { o.Experiments = []Experiment{{"small", "./small.yaml", "small.yaml", []byte(text)}} })
	if status, answer := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, nil); status != http.StatusBadRequest || !strings.Contains(answer, "use rpclab run") {
		t.Errorf("status %d %s, want 400 and use rpclab run", status, answer)
	}
}

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"rpclab/internal/analysis"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const small = `
experiment: small
question: Does it work?
defaults: {workload: {greet: {delay: 1ms}}, load: {burst: 10}}
arms:
  one: {route: clusterip}
  two: {route: endpointslice}
rounds: 2
`

// testServer is a server with a store. Its runs progress only when the test sends a step.
type testServer struct {
	*Server
	url   string
	store *result.Store
	log   *lockedBuffer
	steps chan lab.Progress // a run receives its steps here; closed: all runs end
	check *checker
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text.String()
}

func serve(t *testing.T, change func(*Options)) *testServer {
	t.Helper()
	s := &testServer{log: &lockedBuffer{}, steps: make(chan lab.Progress), check: newChecker(t)}
	var err error
	if s.store, err = result.OpenStore(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Store: s.store, Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Experiments: []Experiment{{"small", "./small.yaml", "small.yaml", []byte(small)}}, Conduct: s.conduct,
	}
	if change != nil {
		change(&o)
	}
	if s.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(s.Handler())
	s.url = front.URL
	t.Cleanup(func() {
		s.Close()
		front.Close()
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// conduct is a run whose steps the test sends. It stores the same as a run of package lab.
func (s *testServer) conduct(ctx context.Context, run Run, watch func(lab.Progress)) (result.Document, error) {
	plan := run.Plan
	d := result.Document{Schema: result.Schema, ID: run.ID, Command: run.Command, Experiment: plan.Name, Question: plan.Question, Cluster: "local",
		Started: time.Now().UTC(), Rounds: plan.Rounds, Quick: plan.Quick, TrialCount: len(plan.Trials), Baseline: plan.Baseline}
	for _, arm := range plan.Arms {
		d.Arms = append(d.Arms, result.Arm{Name: arm.Name, Route: arm.Config.Route, Channel: "shared"})
	}
	if err := s.store.Begin(ctx, d); err != nil {
		return d, err
	}
	for {
		select {
		case step, more := <-s.steps:
			if !more {
				return d, s.store.Finish(context.Background(), analysis.Assemble(d))
			}
			watch(step)
			if step.Ended != nil {
				d.Arms[0].Trials = append(d.Arms[0].Trials, *step.Ended)
			}
		case <-ctx.Done():
			d.Partial = true
			d = analysis.Assemble(d)
			if err := s.store.Finish(context.Background(), d); err != nil {
				return d, err
			}
			return d, ctx.Err()
		}
	}
}

// request sends a request, and checks the response against the API's description.
func (s *testServer) request(t *testing.T, method, path, body string, change func(*http.Request)) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	response, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(path, "/api/") {
		s.check.response(t, r, response, content)
	}
	return response.StatusCode, string(content)
}

// httpClient closes each connection and does not follow redirects.
var httpClient = http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (s *testServer) get(t *testing.T, path string) string {
	t.Helper()
	status, text := s.request(t, http.MethodGet, path, "", nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// begin starts a run and returns its id.
func (s *testServer) begin(t *testing.T) string {
	t.Helper()
	status, text := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, nil)
	var began struct{ ID string }
	if err := json.Unmarshal([]byte(text), &began); err != nil || status != http.StatusAccepted || began.ID == "" {
		t.Fatalf("starting a run: status %d %s, %v; want 202 and an id", status, text, err)
	}
	return began.ID
}

// state returns the state of the server.
func (s *testServer) state(t *testing.T) (state State) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.get(t, "/api/v1/live")), &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func (s *testServer) awaitPhase(t *testing.T, phase string) State {
	t.Helper()
	testkit.Await(t, "phase "+phase, func() bool { return s.state(t).Phase == phase })
	return s.state(t)
}

// checker checks responses against the description of the API.
type checker struct{ router routers.Router }

func newChecker(t *testing.T) *checker {
	t.Helper()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	return &checker{router}
}

func (c *checker) response(t *testing.T, r *http.Request, got *http.Response, body []byte) {
	t.Helper()
	plain := r.Clone(context.Background())
	plain.URL.Host, plain.URL.Scheme = "", ""
	route, parameters, err := c.router.FindRoute(plain)
	if err != nil {
		if got.StatusCode < 400 {
			t.Errorf("%s %s has no description but no error status either: %v", r.Method, r.URL.Path, err)
		}
		return
	}
	if err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: plain, PathParams: parameters, Route: route},
		Status:                 got.StatusCode, Header: got.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}); err != nil {
		t.Errorf("%s %s: the response with status %d differs from its description: %v", r.Method, r.URL, got.StatusCode, err)
	}
}

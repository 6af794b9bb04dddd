package e2e

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"strings"
	"sync"
	"testing"
	"time"
)

// changingServer answers after a delay that depends on the time since its first request.
func changingServer(t *testing.T, delay func(since time.Duration) time.Duration) (url string) {
	var first time.Time
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { first = time.Now() })
		<-time.After(delay(time.Since(first)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// warmedLoad runs a load of a second after a warm-up, and reads its result.
func warmedLoad(t *testing.T, warmupMax, url string) (result.Document, said) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "load.json")
	s := rpclab(t, "load", "--http", "GET", "-c", "5", "--duration", "1s", "--warmup-max", warmupMax, "--json", file, url)
	if s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return resulttest.Read(t, bytes.NewReader(text)), s
}

func TestAWarmUpLastsUntilTheServerIsSteady(t *testing.T) {
	t.Parallel()
	const slow, fast, compiling = 240 * time.Millisecond, 60 * time.Millisecond, 5 * time.Second
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		url := changingServer(t, func(since time.Duration) time.Duration { // as a virtual machine that compiles its code
			return max(fast, slow-time.Duration(float64(slow-fast)*float64(since)/float64(compiling)))
		})
		d, s := warmedLoad(t, "1m", url)
		trial := d.Arms[0].Trials[0]
		if w := trial.WarmUp; w == nil || !w.Steady || w.TookMS < float64(compiling.Milliseconds()) {
			wrong("the warm-up was %+v, want steady after more than %v", w, compiling)
		}
		if !strings.Contains(s.stdout, "Rate and latency were steady after") {
			wrong("the summary does not say how long the warm-up took:\n%s", s.stdout)
		}
		if over := trial.LatencyOverTime; over == nil || over.IntervalMS != 1000 || len(over.P50) == 0 || over.P50[0] == nil {
			wrong("no latency of the first second in %+v", over)
		}
	})
}

func TestAWarmUpThatDoesNotBecomeSteadyIsSaid(t *testing.T) {
	t.Parallel()
	url := changingServer(t, func(since time.Duration) time.Duration { return 5*time.Millisecond + since/20 })
	d, s := warmedLoad(t, "8s", url)
	if w := d.Arms[0].Trials[0].WarmUp; w == nil || w.Steady {
		t.Errorf("the warm-up was %+v, want not steady", w)
	}
	if text := strings.Join(strings.Fields(s.stdout), " "); !strings.Contains(text, "rate or latency still changed after 8 s of warm-up; raise caller.warmup_max (rpclab load: --warmup-max)") {
		t.Errorf("no warning:\n%s", s.stdout)
	}
}

func TestCallersOfAnExperimentWarmUpUntilTheyAreSteady(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "warm.yaml")
	if err := os.WriteFile(file, []byte(`
experiment: warm
question: Does a warm-up end when the load is steady?
baseline: shared
rounds: 1
defaults:
  callers: 2
  server: {replicas: 1}
  caller: {warmup_max: 40s}
  workload: {greet: {delay: 20ms}}
  load: {closed: {users: 4, duration: 1s}}
arms:
  shared: {route: direct}
  burst: {route: direct, load: {burst: 40}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		d, _ := document(t, file)
		for _, arm := range d.Arms {
			if w := arm.Trials[0].WarmUp; w == nil || !w.Steady || w.TookMS < 5000 {
				wrong("%s: the warm-up was %+v, want steady after 6 s or more", arm.Name, w)
			}
		}
	})
}

package kube

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// scenario is one of the balancing study: how many calls gateway and servers handle at once.
type scenario struct {
	what      string
	model     string // of the gateway
	workers   int    // of each server
	published string // seconds with ClusterIP, headless and mesh
}

var scenarios = []scenario{
	{"1: one thread in both", "one-thread", 1, "766.55, 466.42, 256.56"},
	{"2: threads in both", "threads", 5, "401.15, 481.62, 263.56"},
	{"3: one thread in servers", "threads", 1, "like scenario 1"},
	{"4: one thread in the gateway", "one-thread", 5, "like scenario 1"},
	{"5: asynchronous", "async", 5, "17.4 min, 603.01, 311.82"},
}

// studyPaths are the arms of the three paths of the study, in the order of their ports, and the CPUs of each server, of
// which three have less than one gateway could use.
const (
	studyPaths = "clusterip,headless,envoy"
	studyCPUs  = 0.2
)

// asynchronous reports whether every request has a channel of its own, so that a cluster IP spreads the requests.
func (s scenario) asynchronous() bool { return s.model == "async" }

// settings are the flags of a run of the scenario in a language.
func (s scenario) settings(languageName string) []string {
	args := []string{
		"budget", "--arms", studyPaths, "--rounds", "4", "--seed", "7",
		"--set", fmt.Sprintf("sweep.server.cpus=[%g]", studyCPUs), "--set", fmt.Sprint("server.workers=", s.workers), "--set", "gateway.model=" + s.model,
	}
	if languageName == "python" {
		args = append(args, "--set", "server.language=python", "--set", "gateway.language=python")
		if s.asynchronous() {
			args = append(args, "--set", "server.model=grpc-aio")
		}
	}
	return args
}

// measured is what a scenario gave in a language.
type measured struct {
	result.Document
	calls map[string]map[string]int // of the study's own command, by route and server
}

// TestSoakScenariosOfTheStudy runs the three paths of the balancing study in its five scenarios, in Go and in Python,
// with a CPU limit for each server: as an experiment, whose verdict is the order of the paths, and with the study's own
// command, which counts calls by pod. -update writes the page.
func TestSoakScenariosOfTheStudy(t *testing.T) {
	images := map[string]string{"go": image(t), "python": ""} // empty: each command builds its own
	all := map[string][]measured{}
	for _, languageName := range slices.Sorted(maps.Keys(images)) {
		for i, s := range scenarios {
			t.Run(languageName+" "+s.what, func(t *testing.T) {
				m := measured{runScenario(t, images[languageName], languageName, s), nil}
				m.calls = tryScenario(t, images[languageName], languageName, s, 30760+10*i)
				all[languageName] = append(all[languageName], m)
			})
		}
	}
	if t.Failed() || !*testkit.Update {
		return
	}
	if err := os.WriteFile("../../docs/findings/pods.md", []byte(scenariosPage(all)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runScenario requires that no call fails, that calls reach the pods as the route says and that the path that loads one
// pod alone is slower.
func runScenario(t *testing.T, image, languageName string, s scenario) result.Document {
	t.Helper()
	g := beginWith(t, image, s.settings(languageName)...)
	o := g.end(t)
	g.leavesNothing(t)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	for _, arm := range o.document.Arms {
		t.Logf("%s: %.2f s, %s, %s", arm.Name, arm.ElapsedMS/1000, distribution(arm), against(o.document, arm.Name))
		if arm.Calls == 0 || arm.Failed() > 0 {
			t.Errorf("%s: %d of %d calls failed: %v", arm.Name, arm.Failed(), arm.Calls, arm.Samples)
		}
		want := even
		if arm.Name == "clusterip" {
			want = onOne
		}
		if got := distribution(arm); got != want && !(s.asynchronous() && arm.Name == "clusterip") {
			t.Errorf("%s: the calls by backend are %v, %s; want %s", arm.Name, arm.Backends, got, want)
		}
	}
	if v := pathVerdict(o.document, "clusterip"); !s.asynchronous() && v.Decision != "worse" {
		t.Errorf("clusterip is %s against headless: %.2f times as long (%.2f–%.2f), because %+v; want worse. The machine: %v", v.Decision, v.Ratio, v.CI[0], v.CI[1], v.Cause, o.document.MachineWarnings)
	}
	return o.document
}

// tryScenario starts the scenario without an experiment, and makes the requests of the study's own command.
func tryScenario(t *testing.T, image, languageName string, s scenario, port int) map[string]map[string]int {
	t.Helper()
	targets := filepath.Join(t.TempDir(), "balancing.json")
	g := labUp(t, image, "balancing", "--port", fmt.Sprint(port), "--language", languageName, "--model", s.model,
		"--workers", fmt.Sprint(s.workers), "--cpus", fmt.Sprint(studyCPUs), "--routes", studyPaths, "--targets", targets)
	calls := map[string]map[string]int{}
	for i, mode := range strings.Split(studyPaths, ",") {
		switch {
		case mode != "clusterip":
			calls[mode] = testBalancing(t, port+i, mode, 3)
		case s.asynchronous(): // a request reaches one server, and how many do all of them is chance
			awaitServers(t, port+i, 1)
			calls[mode] = callBalancing(t, port+i, mode)
		default:
			calls[mode] = testBalancing(t, port+i, mode, 1)
		}
	}
	checkDashboard(t, prometheus(t, filepath.Dir(targets)), calls)
	g.stop(t)
	return calls
}

// pathVerdict returns the verdict of the elapsed time of an arm against headless.
func pathVerdict(d result.Document, arm string) result.Verdict {
	return verdictOn(d, "elapsed", arm, "headless")
}

// verdictOn is the verdict of a metric on two arms, zero if there is none.
func verdictOn(d result.Document, metric, a, b string) (found result.Verdict) {
	for _, v := range d.Verdicts {
		if v.Metric == metric && v.A == a && v.B == b {
			found = v
		}
	}
	return found
}

// against says how the elapsed time of an arm compares with that of headless.
func against(d result.Document, arm string) string { return inWords(pathVerdict(d, arm)) }

// inWords is a verdict on a time in the cell of a table.
func inWords(v result.Verdict) string {
	if v.Ratio == 0 {
		return "baseline"
	}
	decision := map[string]string{"better": "faster", "worse": "slower", "equivalent": "the same"}[v.Decision]
	if decision == "" {
		decision = v.Decision
	}
	return fmt.Sprintf("%s, %.2f (%.2f–%.2f)", decision, v.Ratio, v.CI[0], v.CI[1])
}

// shares are the calls by server, most first.
func shares(calls map[string]int) string {
	counts := slices.Sorted(maps.Values(calls))
	slices.Reverse(counts)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(counts), " ", " / "), "[]")
}

// scenariosPage writes the page with all scenarios.
func scenariosPage(all map[string][]measured) string {
	var b strings.Builder
	d := all["go"][0].Document
	linux, _, _ := strings.Cut(d.Machine.Kernel, "-")
	fmt.Fprintf(&b, `# Which route should gRPC calls take to the pods, in the five scenarios of the study?

%s

In Go each request of scenario 5 opens a connection of its own, so a ClusterIP spreads the requests. In Python the
channels of a process share one connection to an address, so it does not.

The published [balancing study](../studies.md#balancing) in pods: an HTTP client, a gateway, and three servers, each
with %g of a CPU. 20 users make 50 requests, and the gateway makes %d calls for each. The time is that until the last
answer, in seconds, of the median round. A difference is the ratio of the time to that of headless, with its 95 %%
confidence interval. Calls by pod are those of the study's own command with `+"`lab up balancing`"+`, whose dashboard a real
Prometheus fed.

Made on %s with %d CPUs (%s), Linux %s, Kubernetes %s on the same machine. Rounds: %d. The study
made 10,000 calls a request, on pods that had the CPUs of their nodes, so compare the order and the ratios, not the
seconds. This command measures them again:

<!-- not run: it writes this page, and takes long -->
    go run ./test/cluster with -- go test ./test/kube -timeout 90m -run ScenariosOfTheStudy -update

`, scenariosAnswer(all), studyCPUs, gatewayCalls(d), time.Now().UTC().Format(time.DateOnly), d.Machine.CPUs, d.Machine.Model, linux, d.Machine.Kubernetes, len(d.Arms[0].Trials))
	for _, languageName := range []string{"go", "python"} {
		fmt.Fprintf(&b, "## %s\n\n", languageNames[languageName])
		b.WriteString("| scenario | route | seconds | against headless | calls by pod |\n|---|---|--:|---|---|\n")
		for i, m := range all[languageName] {
			for _, arm := range m.Arms {
				fmt.Fprintf(&b, "| %s | %s | %.2f | %s | %s |\n", scenarios[i].what, arm.Name, arm.ElapsedMS/1000, against(m.Document, arm.Name), shares(m.calls[arm.Name]))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## What the study printed\n\n| scenario | seconds with ClusterIP, headless and mesh (Linkerd) |\n|---|---|\n")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "| %s | %s |\n", s.what, s.published)
	}
	return b.String()
}

// scenariosAnswer says how the other routes compare with headless. A case that is undecided is neither different nor equal.
func scenariosAnswer(all map[string][]measured) string {
	cases, slower := 0, []float64{}
	clusterIP, envoy := map[string][]string{}, map[string][]string{} // cases by decision
	for _, languageName := range slices.Sorted(maps.Keys(all)) {
		for i, m := range all[languageName] {
			cases++
			number, what, _ := strings.Cut(scenarios[i].what, ": ")
			name := fmt.Sprintf("scenario %s (%s) in %s", number, what, languageNames[languageName])
			direct, meshed := pathVerdict(m.Document, "clusterip"), pathVerdict(m.Document, "envoy")
			clusterIP[direct.Decision] = append(clusterIP[direct.Decision], name)
			envoy[meshed.Decision] = append(envoy[meshed.Decision], name)
			if direct.Decision == "worse" {
				slower = append(slower, direct.Ratio)
			}
		}
	}
	said := func(words, all string, these []string) string {
		switch len(these) {
		case 0:
			return ""
		case cases:
			return fmt.Sprintf("\n%s in %s %d cases.", words, all, cases)
		}
		return fmt.Sprintf("\n%s in %s.", words, strings.Join(these, ", "))
	}
	answer := fmt.Sprintf("**In none of %d cases was ClusterIP slower than headless.**", cases)
	if len(slower) > 0 {
		use := "A headless Service"
		if len(envoy["equivalent"])+len(envoy["better"]) == cases {
			use += " or Envoy"
		}
		times := fmt.Sprintf("%.2f", slices.Min(slower))
		if most := fmt.Sprintf("%.2f", slices.Max(slower)); most != times {
			times += " to " + most
		}
		answer = fmt.Sprintf("**%s, not ClusterIP: in %d of %d cases ClusterIP took %s times as long as headless,\nbecause one pod answered all calls.**", use, len(slower), cases, times)
	}
	return answer +
		said("ClusterIP was faster", "all", clusterIP["better"]) + said("ClusterIP was as fast", "all", clusterIP["equivalent"]) +
		said("The run could not tell ClusterIP from headless", "any of the", clusterIP["undecided"]) +
		said("Envoy was slower than headless", "all", envoy["worse"]) + said("Envoy was faster than headless", "all", envoy["better"]) +
		said("Envoy was as fast as headless", "all", envoy["equivalent"]) + said("The run could not tell Envoy from headless", "any of the", envoy["undecided"])
}

// An undecided verdict is not a statement that two paths take the same time, and an equivalent one is no difference.
func TestTheAnswerOnTheScenariosSeparatesUndecidedFromEquivalent(t *testing.T) {
	t.Parallel()
	of := func(clusterIP, envoy string) measured {
		var d result.Document
		for arm, decision := range map[string]string{"clusterip": clusterIP, "envoy": envoy} {
			d.Verdicts = append(d.Verdicts, result.Verdict{Metric: "elapsed", A: arm, B: "headless", Ratio: 2, Decision: decision})
		}
		return measured{Document: d}
	}
	got := scenariosAnswer(map[string][]measured{"go": {of("worse", "undecided"), of("undecided", "equivalent"), of("equivalent", "better")}})
	want := "**A headless Service, not ClusterIP: in 1 of 3 cases ClusterIP took 2.00 times as long as headless,\nbecause one pod answered all calls.**\n" +
		"ClusterIP was as fast in scenario 3 (one thread in servers) in Go.\nThe run could not tell ClusterIP from headless in scenario 2 (threads in both) in Go.\n" +
		"Envoy was faster than headless in scenario 3 (one thread in servers) in Go.\nEnvoy was as fast as headless in scenario 2 (threads in both) in Go.\n" +
		"The run could not tell Envoy from headless in scenario 1 (one thread in both) in Go."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := scenariosAnswer(map[string][]measured{"python": {of("worse", "undecided"), of("worse", "undecided")}}); !strings.HasSuffix(got, "answered all calls.**\nThe run could not tell Envoy from headless in any of the 2 cases.") {
		t.Errorf("%s\nwant that all cases of Envoy are undecided", got)
	}
	if got := scenariosAnswer(map[string][]measured{"go": {of("worse", "equivalent")}}); !strings.HasPrefix(got, "**A headless Service or Envoy, not ClusterIP: in 1 of 1 cases ") {
		t.Errorf("%s\nwant Envoy beside headless, because it is as fast", got)
	}
	if got := scenariosAnswer(map[string][]measured{"go": {of("undecided", "undecided")}}); !strings.HasPrefix(got, "**In none of 1 cases was ClusterIP slower than headless.**") {
		t.Errorf("%s\nwant that ClusterIP was slower in no case", got)
	}
}

var languageNames = map[string]string{"go": "Go", "python": "Python"}

// gatewayCalls is the number of calls that the gateway makes for a request.
func gatewayCalls(d result.Document) (each int) {
	for _, n := range d.Arms[0].Backends {
		each += int(n)
	}
	return each / int(d.Arms[0].Calls)
}

package browser

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

const (
	brief = `
experiment: brief
question: Does the page follow a run?
defaults: {workload: {greet: {delay: 1ms}}, load: {closed: {users: 2, duration: 1500ms}}}
arms: {shared: {route: clusterip}, spread: {route: endpointslice}}
rounds: 4
`
	short = `
experiment: short
question: Can the page compare two runs?
defaults: {workload: {greet: {delay: 1ms}}, load: {closed: {users: 2, duration: 300ms}}}
arms: {shared: {route: clusterip}, spread: {route: endpointslice}}
rounds: 4
`
	endless = `
experiment: endless
question: Does the page stop a run?
defaults: {workload: {greet: {delay: 1ms}}, load: {closed: {users: 2, duration: 10m}}}
arms: {shared: {route: clusterip}}
rounds: 1
`
)

var experimentFiles = map[string]string{"brief.yaml": brief, "short.yaml": short, "endless.yaml": endless}

// station is `rpclab serve` in a directory of its own, which can be started again.
type station struct {
	dir, url string
	args     []string // besides those of the experiments
	process  *process.Process
}

var addressed = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`)

func newStation(t *testing.T, args ...string) *station {
	t.Helper()
	l := &station{dir: t.TempDir(), args: args}
	for name, text := range experimentFiles {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("RPCLAB_DATA_DIR", filepath.Join(l.dir, "data"))
	l.start(t, "127.0.0.1:0")
	t.Cleanup(func() { l.process.Stop(chrome.Timeout) })
	return l
}

func (l *station) start(t *testing.T, address string) {
	t.Helper()
	var err error
	args := append([]string{testkit.Rpclab(t), "serve", "--listen", address}, l.args...)
	for name := range experimentFiles {
		args = append(args, "--experiment", filepath.Join(l.dir, name))
	}
	if l.process, err = process.Start(process.Spec{Args: args}); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the server says where it is", func() bool {
		found := addressed.FindStringSubmatch(l.process.Log())
		if found != nil {
			l.url = "http://" + found[1]
		}
		return found != nil
	})
}

func (l *station) open(t *testing.T, path string, v chrome.Viewport) *chrome.Page {
	t.Helper()
	p, err := browser.Open(l.url+path, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func await(t *testing.T, p *chrome.Page, what, expression string) {
	t.Helper()
	testkit.AwaitFor(t, chrome.Timeout, what, func() bool {
		var is bool
		err := p.Eval("Boolean("+expression+")", &is)
		if err != nil && !strings.Contains(err.Error(), "navigated") { // a page that is being left has no answer
			t.Fatalf("%s: %v", expression, err)
		}
		return is
	})
}

func awaitPhase(t *testing.T, p *chrome.Page, phase string) {
	t.Helper()
	await(t, p, "phase "+phase, fmt.Sprintf(`document.querySelector("[data-phase]")?.dataset.phase === %q`, phase))
}

// reach presses Tab until something has the focus.
func reach(t *testing.T, p *chrome.Page, selector string) {
	t.Helper()
	for range 60 {
		if eval[bool](t, p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
		press(t, p, kb.Tab, 1)
	}
	t.Fatalf("the keyboard does not reach %s", selector)
}

// begin starts an experiment with a number of rounds, with the keyboard alone.
func begin(t *testing.T, p *chrome.Page, experiment, rounds string) {
	t.Helper()
	await(t, p, "the form is there", `document.querySelector("#experiment option")`)
	reach(t, p, "#experiment")
	if err := p.Press(experiment); err != nil { // a select accepts typed text
		t.Fatal(err)
	}
	reach(t, p, "#rounds")
	press(t, p, rounds, 1)
	reach(t, p, "#quick")
	press(t, p, " ", 1)
	reach(t, p, "button[type=submit]")
	press(t, p, kb.Enter, 1)
}

func fits(t *testing.T, p *chrome.Page) {
	t.Helper()
	if wide := eval[int](t, p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", wide)
	}
	if said := p.ConsoleErrors(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}

func TestTheLivePageFollowsARunFromStartToVerdictByKeyboardOnAPhone(t *testing.T) {
	l := newStation(t)
	p := l.open(t, "/", phone)
	awaitPhase(t, p, "idle")
	begin(t, p, "brief", "4")
	awaitPhase(t, p, "running")
	await(t, p, "a load is seen second by second", `document.querySelector(".figures dt")?.textContent.includes("last second")`)
	await(t, p, "calls per backend are drawn", `document.querySelectorAll("[data-phase] svg rect").length >= 3`)
	fits(t, p)
	awaitPhase(t, p, "done")
	if rows := eval[int](t, p, `document.querySelectorAll("[data-phase] tbody tr").length`); rows != 8 {
		t.Errorf("%d trials are listed, want 8, each once", rows)
	}
	if cards := eval[int](t, p, `document.querySelectorAll(".card").length`); cards == 0 {
		t.Error("there is no verdict")
	}
	fits(t, p)
	picture(t, p, "live")

	// The same state again, as after a lost connection.
	eval[string](t, p, `document.querySelector(".eyebrow b").dataset.before = "yes"`)
	response, err := http.Post(l.url+"/api/v1/runs/none/stop", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	await(t, p, "another state", `document.querySelector(".eyebrow b") && !document.querySelector(".eyebrow [data-before]")`)
	if links := eval[int](t, p, `document.querySelectorAll(".answer a").length`); links != 1 {
		t.Errorf("the answer has %d links to the report, want 1", links)
	}

	reach(t, p, `.answer a`)
	press(t, p, kb.Enter, 1)
	await(t, p, "the report of the run", `document.querySelector("#verdicts") && document.documentElement.dataset.drawn === "true"`)
	if said := p.ConsoleErrors(); len(said) > 0 {
		t.Errorf("the report complains: %q", said)
	}
	for path, seen := range map[string]string{"/runs": `document.querySelectorAll("tbody tr").length === 1`, "/trend": `document.querySelectorAll("figure svg circle, figure svg path").length > 2`} {
		other := l.open(t, path, phone)
		await(t, other, "what there is at "+path, seen)
		fits(t, other)
		picture(t, other, strings.TrimPrefix(path, "/"))
	}
}

func TestTwoSelectedRunsAreCompared(t *testing.T) {
	l := newStation(t)
	for range 2 {
		p := l.open(t, "/", desk)
		begin(t, p, "short", "4")
		awaitPhase(t, p, "running")
		awaitPhase(t, p, "done")
	}
	runs := l.open(t, "/runs", desk)
	await(t, runs, "both runs are listed", `document.querySelectorAll("tbody tr").length === 2`)
	if err := runs.Eval(`for (const box of document.querySelectorAll("tbody input")) box.click(); document.querySelector("button.action").click()`, nil); err != nil {
		t.Fatal(err)
	}
	await(t, runs, "the comparison", `location.pathname === "/compare" && document.querySelectorAll("table").length >= 2`)
	for _, want := range []string{"short of ", "Headline metrics", "p50, ms", "client, µs per call", "server, MB", "p99.9, ms"} {
		if !strings.Contains(eval[string](t, runs, `document.querySelector("main").textContent`), want) {
			t.Errorf("the comparison does not say %q", want)
		}
	}
	// Each reason stands once, below the table, however many metrics it leaves without a verdict.
	if n := eval[int](t, runs, `[...document.querySelectorAll("table")].filter((table) => table.textContent.includes("make more")).length`); n > 0 {
		t.Errorf("%d tables repeat a reason in their rows", n)
	}
	if n := eval[int](t, runs, `[...document.querySelectorAll(".reasons li")].filter((li) => / p99.9.*: no verdict: .*make more/.test(li.textContent)).length`); n == 0 {
		t.Errorf("no reason names the arm and the metric that it leaves without a verdict: %s", eval[string](t, runs, `document.querySelector(".reasons")?.textContent ?? "none"`))
	}
	await(t, runs, "both runs in the same charts", `document.querySelector("[data-chart=latency] .legend")?.textContent.includes("shared, A")`)
	if n := eval[int](t, runs, `document.querySelectorAll("[data-chart=latency] .legend button").length`); n != 4 {
		t.Errorf("the chart of both runs has %d lines, want two arms of each", n)
	}
	fits(t, runs)
	picture(t, runs, "compare")

	home := l.open(t, "/", desk)
	await(t, home, "the last answer", `document.querySelector(".overview .said a")?.href.includes("/report")`)
	if !strings.Contains(eval[string](t, home, `document.querySelector(".overview li").textContent`), "2 runs") {
		t.Error("the overview does not say how many runs there are")
	}
	fits(t, home)
	picture(t, home, "home")
	for name, v := range map[string]chrome.Viewport{"home-dark": night, "home-phone": phone} {
		other := l.open(t, "/", v)
		await(t, other, "the last answer", `document.querySelector(".overview .said a")`)
		fits(t, other)
		picture(t, other, name)
	}
	found := l.open(t, "/runs?search=nothing-has-this", desk)
	await(t, found, "the search of the address", `document.querySelector("#search").value === "nothing-has-this" && document.querySelector("[role=status].note").textContent === "No run matches."`)
}

// keep stores a run of four trials of 10,000 calls each. lost is how many calls each loses, and first when new
// backends have their first call, in ms after the event that adds them; nil: never.
func (l *station) keep(t *testing.T, id string, lost uint64, first *float64) {
	t.Helper()
	store, err := result.OpenStore(filepath.Join(l.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	began := time.Date(2026, 11, 20, 10, int(lost), 0, 0, time.UTC)
	arm := result.Arm{Name: "shared", Route: "clusterip"}
	for round := range 4 {
		x := trial(rand.New(rand.NewPCG(1, lost)), experiment.Trial{Round: round + 1, Order: round}, began, 5)
		x.Calls, x.Errors, x.ElapsedMS = 10_000, map[string]uint64{"UNAVAILABLE": lost}, 1500
		x.Events = []result.Event{{AtMS: 1000, What: "scale 10", Action: "scale", Count: 10, Ready: 5, Added: 5, Took: result.Took{FirstCall: first}}}
		arm.Trials = append(arm.Trials, x)
	}
	d := result.Document{Schema: result.Schema, ID: id, Experiment: "growing", Question: "Do callers find new backends?", Cluster: "local", Started: began,
		Finished: &began, Rounds: 4, TrialCount: 4, Headline: []string{"followed", "failed", "elapsed"}, Arms: []result.Arm{arm}}
	if err := store.Save(t.Context(), analysis.Assemble(d)); err != nil {
		t.Fatal(err)
	}
}

func TestStoredRunsAreComparedInTheUnitsOfTheirHeadline(t *testing.T) {
	l := newStation(t)
	l.keep(t, "found", 2, new(1200.))
	l.keep(t, "never", 4, nil)
	p := l.open(t, "/compare?run=found&run=never", desk)
	await(t, p, "the comparison", `document.querySelector(".comparison figure svg")`)
	rows := eval[[]string](t, p, `[...document.querySelector(".comparison table").tBodies[0].rows].map((row) => [...row.cells].slice(1, 4).map((c) => c.textContent).join("; "))`)
	want := []string{"followed, ms; 1,200; never", "lost calls, share; 0.0002; 0.0004", "elapsed, ms; 1,500; 1,500"}
	if !slices.Equal(rows, want) {
		t.Errorf("the headline metrics are %q, want %q", rows, want)
	}
	fits(t, p)

	trend := l.open(t, "/trend?experiment=growing&metric=errors", desk)
	await(t, trend, "the trend", `document.querySelector("figure svg") && document.querySelector("tbody")`)
	if note := eval[string](t, trend, `document.querySelector("figcaption").textContent`); strings.Contains(note, "Quick") {
		t.Errorf("the trend without a quick run says %q", note)
	}
	for _, want := range []string{"0.02 %", "0.04 %"} {
		if text := eval[string](t, trend, `document.querySelector("tbody").textContent`); !strings.Contains(text, want) {
			t.Errorf("the errors of the runs are %q, want %s", text, want)
		}
	}
	if ticks := eval[[]string](t, trend, `[...document.querySelectorAll("[aria-label='y-axis tick label'] text")].map((text) => text.textContent)`); len(ticks) < 3 ||
		len(slices.Compact(slices.Clone(ticks))) != len(ticks) {
		t.Errorf("the axis of errors reads %q, want different numbers", ticks)
	}
	fits(t, trend)
	// An experiment that the page does not offer is shown, instead of another.
	other := l.open(t, "/trend?experiment=older", desk)
	await(t, other, "the experiment of the address", `document.querySelector("#experiment")?.value === "older" && document.querySelector(".none")`)
}

func TestTheLivePageSurvivesARestartAndStopsARun(t *testing.T) {
	l := newStation(t)
	p := l.open(t, "/", desk)
	begin(t, p, "endless", "1")
	await(t, p, "calls are drawn over time", `document.querySelector(".pictures figure svg path")`)
	picture(t, p, "running")
	if eval[string](t, p, `document.querySelector("#line").textContent`) != "" {
		t.Error("the page says that the connection is lost")
	}
	l.process.Stop(chrome.Timeout)
	awaitPhase(t, p, "partial") // the last state arrived before the end
	l.start(t, strings.TrimPrefix(l.url, "http://"))
	awaitPhase(t, p, "idle") // of the new server
	await(t, p, "the connection is said to be back", `document.querySelector("#line").textContent === ""`)

	runs := l.open(t, "/runs", desk)
	await(t, runs, "the run is kept as partial", `document.querySelector("tbody .status")?.textContent === "partial"`)

	begin(t, p, "endless", "1")
	awaitPhase(t, p, "running")
	await(t, p, "there is a button that stops it", `!document.querySelector("button.stop").hidden`)
	if err := p.Eval(`document.querySelector("#main").focus()`, nil); err != nil {
		t.Fatal(err)
	}
	reach(t, p, "button.stop")
	press(t, p, kb.Enter, 1)
	awaitPhase(t, p, "partial")
	testkit.Await(t, "both runs are kept", func() bool { return strings.Count(l.process.Log(), "was stopped") == 1 })
}

func TestAKilledServerKeepsFinishedTrials(t *testing.T) {
	l := newStation(t)
	p := l.open(t, "/", desk)
	begin(t, p, "brief", "4")
	await(t, p, "a trial has ended", `document.querySelectorAll("[data-phase] tbody tr").length > 0`)
	l.process.Kill()
	await(t, p, "the connection is said to be lost", `document.querySelector("#line").textContent.includes("lost")`)
	l.start(t, strings.TrimPrefix(l.url, "http://"))
	awaitPhase(t, p, "idle") // of the new server
	await(t, p, "the connection is said to be back", `document.querySelector("#line").textContent === ""`)
	runs := l.open(t, "/runs", desk)
	await(t, runs, "the run is kept as interrupted", `document.querySelector("tbody .status")?.textContent === "interrupted"`)
	if trials := eval[string](t, runs, `document.querySelector("tbody td.n").textContent`); !regexp.MustCompile(`^[1-8] of 8$`).MatchString(trials) {
		t.Errorf("%s trials are kept", trials)
	}
}

// picture keeps what the page looks like, for people, in the directory that RPCLAB_PICTURES
// names.
func picture(t *testing.T, p *chrome.Page, name string) {
	t.Helper()
	dir := os.Getenv("RPCLAB_PICTURES")
	if dir == "" {
		return
	}
	width, height := eval[float64](t, p, "document.documentElement.clientWidth"), eval[float64](t, p, "document.documentElement.scrollHeight")
	png, err := p.Screenshot(0, 0, width, height)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// size draws a document of some arms, cells and rounds.
type size struct{ arms, bursts, replicas, rounds int }

func drawSize(t *rapid.T) size {
	return size{
		rapid.IntRange(1, 6).Draw(t, "arms"), rapid.IntRange(0, 4).Draw(t, "bursts"),
		rapid.IntRange(0, 3).Draw(t, "replicas"), rapid.IntRange(1, 6).Draw(t, "rounds"),
	}
}

func (s size) document() string {
	var b strings.Builder
	b.WriteString("experiment: x\nquestion: Which?\ndefaults: {workload: {greet: {}}, route: direct, load: {burst: 5}}\narms:\n")
	for i := range s.arms {
		fmt.Fprintf(&b, "  arm-%d:\n", i)
	}
	fmt.Fprintf(&b, "rounds: %d\nsweep:", s.rounds)
	if s.bursts+s.replicas == 0 {
		b.WriteString(" {}")
	}
	for path, n := range map[string]int{"load.burst": s.bursts, "server.replicas": s.replicas} {
		if n > 0 {
			fmt.Fprintf(&b, "\n  %s: %s", path, numbers(n))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// Every arm runs exactly once in every cell of every round, its config is that of
// the cell, and rounds do not overlap.
func TestEveryArmRunsOnceInEachCellAndRound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSize(rt)
		p, err := Expand("x.yaml", []byte(s.document()), Options{Seed: rapid.Uint64().Draw(rt, "seed")}, vocabulary)
		if err != nil {
			rt.Fatalf("%v\n%s", err, s.document())
		}
		seen := map[string]bool{}
		round := 1
		for i, trial := range p.Trials {
			key := fmt.Sprint(trial.Arm, trial.Cell, trial.Round)
			if seen[key] {
				rt.Errorf("%s runs twice", key)
			}
			seen[key] = true
			if trial.Order != i || trial.Round < round {
				rt.Errorf("trial %d has order %d and round %d after round %d", i, trial.Order, trial.Round, round)
			}
			round = trial.Round
			if n, ok := trial.Cell["load.burst"]; ok && n != trial.Config.Load.Burst {
				rt.Errorf("the load in cell %v is %s", trial.Cell, trial.Config.Load)
			}
			if n, ok := trial.Cell["server.replicas"]; ok && n != trial.Config.Server.Replicas {
				rt.Errorf("cell %v has %d replicas", trial.Cell, trial.Config.Server.Replicas)
			}
		}
		if want := s.arms * max(1, s.bursts) * max(1, s.replicas) * s.rounds; len(p.Trials) != want {
			rt.Errorf("%d trials, want %d", len(p.Trials), want)
		}
	})
}

func TestEqualInputsHaveEqualPlans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc, options := []byte(drawSize(rt).document()), Options{Seed: rapid.Uint64().Draw(rt, "seed")}
		first, err := Expand("x.yaml", doc, options, vocabulary)
		if err != nil {
			rt.Fatal(err)
		}
		second, _ := Expand("x.yaml", doc, options, vocabulary)
		if diff := cmp.Diff(first, second); diff != "" {
			rt.Error(diff)
		}
	})
}

// Looks are the numbers of rounds after which the run may end.
func TestThePlanOfARunUntilDecidedHasItsLooks(t *testing.T) {
	for _, c := range []struct{ rounds, most, last, looks int }{
		{4, 9, 9, 2}, {4, 0, 8, 2}, {20, 0, 40, 2}, {5, 40, 40, 4}, {2, 4, 4, 1}, {1000, 0, 1000, 1},
	} {
		p := mustExpand(t, size{arms: 2, rounds: c.rounds}.document(), Options{UntilDecided: true, MaxRounds: c.most})
		if p.Rounds != c.last || len(p.Trials) != 2*c.last || len(p.Looks) != c.looks || p.Looks[c.looks-1] != c.last {
			t.Errorf("--rounds %d --max-rounds %d: the plan has %d rounds, %d trials and looks %v, want %d rounds and %d looks", c.rounds, c.most, p.Rounds, len(p.Trials), p.Looks, c.last, c.looks)
		}
	}
	if p := mustExpand(t, size{arms: 2, rounds: 5}.document(), Options{}); p.Rounds != 5 || p.Looks != nil {
		t.Errorf("a plan with fixed rounds has %d rounds and looks %v, want 5 and none", p.Rounds, p.Looks)
	}
	_, err := Expand("x.yaml", []byte(size{arms: 2, rounds: 5}.document()), Options{UntilDecided: true, MaxRounds: 4}, vocabulary)
	if err == nil || !strings.Contains(err.Error(), "--max-rounds: 4 rounds are too few: a run until decided needs at least 5") {
		t.Errorf("the error of --max-rounds 4 is %v, want that 5 are needed", err)
	}
}

// With a time limit the first look is after four rounds, and the time bounds the number of rounds.
func TestATimeLimitTakesThePlaceOfTheNumberOfRounds(t *testing.T) {
	doc := func(load string) []byte {
		return []byte("experiment: x\nquestion: Which?\ndefaults: {workload: {increment: true}, route: direct, load: {" + load + "}}\narms: {one: {}, two: {}}\nrounds: 9\n")
	}
	for _, c := range []struct {
		load   string
		limit  time.Duration
		rounds int
	}{
		{"burst: 10", 2 * time.Minute, 600}, {"burst: 10", time.Hour, 1000}, {"burst: 10", 2 * time.Second, 10},
		{"open: {rate: 100, duration: 5s}", 2 * time.Minute, 12}, {"open: {rate: 100, duration: 5s}", 15 * time.Second, 4},
		{"closed: {users: 1, calls: 10, duration: 1h}", 2 * time.Minute, 600},
	} {
		p, err := Expand("x.yaml", doc(c.load), Options{UntilDecided: true, For: c.limit}, vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		if p.TimeLimit != c.limit || p.Rounds != c.rounds || p.Looks[0] != 4 {
			t.Errorf("%s for %v: %d rounds, looks %v, want %d rounds", c.load, c.limit, p.Rounds, p.Looks, c.rounds)
		}
	}
	_, err := Expand("x.yaml", doc("open: {rate: 100, duration: 5s}"), Options{UntilDecided: true, For: 9 * time.Second}, vocabulary)
	if want := "--for 9s: a verdict needs 4 rounds, and a round has 10s of load: use at least --for 40s, fewer arms (--arms), or --quick"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// A look takes a share of the error, so none comes before every headline metric can have verdicts. Ranks of 6 pairs need 5
// rounds, and 6 with the half of the error that the first of several looks has. A burst is one cycle, and p99 needs four
// groups of 1,000 calls.
func TestNoLookIsBeforeVerdictsArePossible(t *testing.T) {
	const burst, open = "{burst: 100}", "{open: {rate: 100, duration: 5s}}"
	for name, c := range map[string]struct {
		design, load, headline string
		rounds                 int
		options                Options
		want                   []int
	}{
		"a time limit":                  {"isolated", burst, "[p50]", 9, Options{For: 16 * time.Second}, []int{4, 8, 20}},
		"ranks, a time limit":           {"isolated", burst, "[p50, failed]", 9, Options{For: 8 * time.Second}, []int{6, 10}},
		"ranks, a long time limit":      {"isolated", burst, "[failed]", 9, Options{For: 16 * time.Second}, []int{6, 12, 20}},
		"ranks, time for one look":      {"isolated", burst, "[failed]", 9, Options{For: 5 * time.Second}, []int{6}},
		"ranks, time for no verdict":    {"isolated", burst, "[failed]", 9, Options{For: 3300 * time.Millisecond}, []int{4}},
		"ranks, few rounds":             {"isolated", burst, "[failed]", 5, Options{}, []int{6, 10}},
		"ranks, many rounds":            {"isolated", burst, "[failed]", 8, Options{}, []int{8, 16}},
		"ranks, two of the arms":        {"isolated", burst, "[failed]", 4, Options{Arms: []string{"a0", "a1"}}, []int{5, 8}},
		"ranks, at most so many rounds": {"isolated", burst, "[failed]", 5, Options{MaxRounds: 5}, []int{5}},
		"bursts in turns":               {"interleaved", burst, "[p50]", 3, Options{For: 8 * time.Second}, []int{4, 10}},
		"p99 of bursts in turns":        {"interleaved", burst, "[p50, p99]", 3, Options{MaxRounds: 100}, []int{40, 100}},
		"p50 of an open loop in turns":  {"interleaved", open, "[p50]", 1, Options{}, []int{1, 2}},
		"p99 of an open loop in turns":  {"interleaved", open, "[p50, p99]", 3, Options{MaxRounds: 20}, []int{8, 20}},
		"p99, too few rounds for it":    {"interleaved", open, "[p50, p99]", 3, Options{}, []int{3, 6}},
		"a cycle a round":               {"interleaved", "{sequence: 60}", "[p50]", 1, Options{MaxRounds: 20}, []int{4, 8, 20}},
		"two cycles a round":            {"interleaved", "{open: {rate: 10, duration: 4s}}", "[mean]", 1, Options{MaxRounds: 20}, []int{2, 4, 8, 20}},
		"balance in turns":              {"interleaved", open, "[balance]", 1, Options{MaxRounds: 8}, []int{4, 8}},
	} {
		doc := fmt.Sprintf("experiment: x\nquestion: Which?\ndefaults: {workload: {increment: true}, route: direct, load: %s}\nheadline: %s\nrounds: %d\ndesign: %s\narms: {a0: {}", c.load, c.headline, c.rounds, c.design)
		for i := range 6 {
			doc += fmt.Sprintf(", a%d: {}", i+1)
		}
		c.options.UntilDecided = true
		if p := mustExpand(t, doc+", again: {control: a0}}\n", c.options); !slices.Equal(p.Looks, c.want) {
			t.Errorf("%s: the looks are after %v rounds, want %v", name, p.Looks, c.want)
		}
	}
}

// How long calls of a service take is not known before a quick run, and it has more rounds than a verdict needs only if
// they take short.
func TestAQuickRunHasATimeLimit(t *testing.T) {
	quick := func(rounds int, load string) string {
		return fmt.Sprintf("%s\nquick: {rounds: %d%s}\n", strings.TrimSpace(size{arms: 2, rounds: 50}.document()), rounds, load)
	}
	for name, c := range map[string]struct {
		rounds  int
		load    string
		options Options
		want    time.Duration
	}{
		"many rounds":              {22, "", Options{Quick: true}, 25 * time.Second},
		"rounds of long loads":     {22, ", load: {open: {rate: 10, duration: 4s}}", Options{Quick: true}, 48 * time.Second}, // of two arms
		"several cells":            {22, ", load: {open: {rate: 10, duration: 4s}}, sweep: {server.replicas: [1, 2, 3]}", Options{Quick: true}, 144 * time.Second},
		"few rounds":               {4, "", Options{Quick: true}, 0},
		"rounds of the user's":     {22, "", Options{Quick: true, Rounds: 22}, 0},
		"a setting of the user's":  {22, "", Options{Quick: true, Set: []string{" rounds=22"}}, 0},
		"a time limit of the user": {22, "", Options{Quick: true, UntilDecided: true, For: 30 * time.Second}, 30 * time.Second},
		"a full run":               {22, "", Options{}, 0},
	} {
		if p := mustExpand(t, quick(c.rounds, c.load), c.options); p.TimeLimit != c.want {
			t.Errorf("%s: the time limit is %v, want %v", name, p.TimeLimit, c.want)
		}
	}
}

// Over many rounds every arm is first.
func TestTheSeedDeterminesTheOrderOfArms(t *testing.T) {
	doc := size{arms: 3, rounds: 50}.document()
	order := func(seed uint64) (all string, first map[string]int) {
		first = map[string]int{}
		for i, trial := range mustExpand(t, doc, Options{Seed: seed}).Trials {
			all += trial.Arm + " "
			if i%3 == 0 {
				first[trial.Arm]++
			}
		}
		return all, first
	}
	one, first := order(1)
	if other, _ := order(2); one == other {
		t.Error("the seeds 1 and 2 have the same order, want different ones")
	}
	for arm := range 3 {
		if name := fmt.Sprintf("arm-%d", arm); first[name] < 5 { // expected 17; under 5 once in 100,000 seeds
			t.Errorf("%s is first in %d of 50 rounds, want at least 5", name, first[name])
		}
	}
}

const paired = `experiment: x
question: Which?
defaults: {workload: {greet: {delay: 1ms}}, route: clusterip, load: {burst: 5}}
arms:
  a: {published: Client}
  b: {route: headless}
  again: {control: a}
  c: {route: direct}
  d: {route: direct, against: c}
baseline: b
rounds: 1
confounds: [{published: a, controlled: b, what: much}]
published: [{arm: a, elapsed_ms: 5}]
`

// Confounds and published figures of other arms are left out, and so are the arms that a control repeats or that an
// arm is compared with.
func TestSelectedArmsKeepTheOrderOfTheDocument(t *testing.T) {
	type outcome struct {
		Arms, Others         []string // that they repeat or are compared with
		Baseline             string
		Confounds, Published int
	}
	for name, tc := range map[string]struct {
		pick []string
		want outcome
	}{
		"all":                 {nil, outcome{[]string{"a", "b", "again", "c", "d"}, []string{"", "", "a", "", "c"}, "b", 1, 1}},
		"in any order":        {[]string{"b", "a"}, outcome{[]string{"a", "b"}, []string{"", ""}, "b", 1, 1}},
		"without baseline":    {[]string{"c", "a"}, outcome{[]string{"a", "c"}, []string{"", ""}, "a", 0, 1}},
		"control alone":       {[]string{"again", "c"}, outcome{[]string{"again", "c"}, []string{"", ""}, "again", 0, 0}},
		"against alone":       {[]string{"b", "d"}, outcome{[]string{"b", "d"}, []string{"", ""}, "b", 0, 0}},
		"control and its arm": {[]string{"again", "a"}, outcome{[]string{"a", "again"}, []string{"", "a"}, "a", 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustExpand(t, paired, Options{Arms: tc.pick})
			got := outcome{Baseline: p.Baseline, Confounds: len(p.Confounds), Published: len(p.Published)}
			for _, arm := range p.Arms {
				got.Arms, got.Others = append(got.Arms, arm.Name), append(got.Others, arm.Control+arm.Against)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(p.Trials) != len(got.Arms) {
				t.Errorf("%d trials, want one for each of %d arms", len(p.Trials), len(got.Arms))
			}
		})
	}
}

func TestAnArmInheritsDefaultsOfTheDocumentThenOfTheLanguage(t *testing.T) {
	p := mustExpand(t, `experiment: x
question: Which?
defaults: {workload: {greet: {delay: 1ms}}, server: {replicas: 5}, route: direct, load: {burst: 5}}
arms:
  a: {server: {fresh: false}, load: {closed: {users: 2, calls: 9}}}
`, Options{})
	want := Config{
		Workload: Workload{Greet: &Greet{Delay: 1e6}},
		Server:   Server{Language: "go", Replicas: 5, Fresh: false},
		Caller:   Caller{Kind: "grpc-go", Channel: Channel{Mode: "shared"}, Timeout: 30e9, Warmup: 30},
		Route:    "direct",
		Load:     Load{Closed: &Closed{Users: 2, Calls: 9}},
	}
	if diff := cmp.Diff(want, p.Trials[0].Config); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	open := mustExpand(t, size{arms: 1, rounds: 1}.document(), Options{Set: []string{"load={open: {rate: 5, duration: 1s}}"}}).Trials[0].Config
	if o, s := *open.Load.Open, open.Server; o.Arrivals != "constant" || o.MaxInFlight != 10_000 || s.Replicas != 3 || !s.Fresh {
		t.Errorf("the load is %+v and the server %+v, want their default values", o, s)
	}
	if p.Rounds != 10 || p.Baseline != "a" {
		t.Errorf("%d rounds and the baseline %s, want 10 and a", p.Rounds, p.Baseline)
	}
}

// Arms that take turns stay up: all rounds of a cell follow one another.
func TestACellWhoseArmsTakeTurnsHasAllItsRoundsBeforeTheNext(t *testing.T) {
	doc := size{arms: 2, bursts: 2, rounds: 2}.document() + "design: interleaved\n"
	p, err := Expand("x.yaml", []byte(doc), Options{Seed: 1}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, trial := range p.Trials {
		place := fmt.Sprint(trial.Cell["load.burst"], " ", trial.Round)
		if len(got) == 0 || got[len(got)-1] != place {
			got = append(got, place)
		}
	}
	if diff := cmp.Diff([]string{"1 1", "1 2", "2 1", "2 2"}, got); diff != "" || p.Design != Interleaved {
		t.Errorf("design %s (-want +got)\n%s", p.Design, diff)
	}
}

func TestTwoArmsAreMeasuredSideBySide(t *testing.T) {
	doc := []byte(size{arms: 3, rounds: 2}.document() + "design: side-by-side\n")
	if _, err := Expand("x.yaml", doc, Options{Arms: []string{"arm-0", "arm-2"}}, vocabulary); err != nil {
		t.Error(err)
	}
	_, err := Expand("x.yaml", doc, Options{}, vocabulary)
	if want := "design: side-by-side: it measures two arms at the same time, and 3 are picked: name two with --arms, or set design: interleaved"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

package experiments

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/verdict"
)

// page returns the words of a page of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// Quick runs of isolated arms have too few rounds for a verdict. The list of findings names the command that has enough, and
// the page on statistics why they have so few.
func TestPagesSayHowManyRoundsAVerdictNeeds(t *testing.T) {
	findings, statistics := page(t, "findings/README.md"), page(t, "method/statistics.md")
	for _, name := range Names() {
		file, doc, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := experiment.Expand(file, doc, experiment.Options{Quick: true}, vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		needed := roundsForVerdicts(plan)
		if plan.Design != experiment.Isolated || plan.Rounds >= needed {
			continue
		}
		if want := fmt.Sprintf("`rpclab run %s --quick --rounds %d`", name, needed); !strings.Contains(findings, want) {
			t.Errorf("%s: %d arms, %d rounds of at least %d; docs/findings/README.md lacks %s", name, len(plan.Arms), plan.Rounds, needed, want)
		}
		if want := fmt.Sprintf("| `%s` | %d | %d |", name, len(plan.Arms), needed); !strings.Contains(statistics, want) {
			t.Errorf("docs/method/statistics.md lacks the row %s", want)
		}
	}
}

// TestTheListOfFindingsSaysThatQuickRunsInTurnsDoNotDecideP99: p99 of arms in turns is compared by groups of cycles with
// 1,000 calls each.
func TestTheListOfFindingsSaysThatQuickRunsInTurnsDoNotDecideP99(t *testing.T) {
	findings := page(t, "findings/README.md")
	for _, name := range Names() {
		plan := expand(t, name, experiment.Options{Quick: true})
		if plan.Design != experiment.Interleaved || !slices.Contains(plan.Headline, "p99") {
			continue
		}
		load := plan.Trials[0].Config.Load
		calls := plan.Rounds * (load.Burst + load.Sequence)
		if load.Open != nil {
			calls = plan.Rounds * int(load.Open.Rate*load.Open.Duration.Seconds())
		}
		if calls >= 1000*verdict.MinRounds {
			continue
		}
		want := fmt.Sprintf("`rpclab run %s --quick` decides p50. Its %d,%03d calls an arm are too few to decide p99, which needs 4,000.", name, calls/1000, calls%1000)
		if !strings.Contains(findings, want) {
			t.Errorf("docs/findings/README.md lacks %q", want)
		}
	}
}

// roundsForVerdicts returns how many rounds the headline verdicts of a plan need: failed calls and times to follow
// are compared by rank, which needs more rounds the more arms there are.
func roundsForVerdicts(plan experiment.Plan) int {
	references := map[string]bool{plan.Baseline: true}
	for _, arm := range plan.Arms {
		references[arm.Against] = true
	}
	pairs := 0
	for _, arm := range plan.Arms {
		if arm.Control == "" && (arm.Against != "" || !references[arm.Name]) {
			pairs++
		}
	}
	if slices.Contains(plan.Headline, "failed") || slices.Contains(plan.Headline, "followed") {
		return verdict.RankRounds(verdict.Options{Family: pairs * len(plan.Cells)})
	}
	return verdict.MinRounds
}

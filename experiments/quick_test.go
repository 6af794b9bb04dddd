package experiments

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/verdict"
)

// Quick runs of isolated arms have too few rounds for a verdict. Their pages name the command that has enough.
func TestThePagesOfQuickRunsWithoutAVerdictSayHowManyRoundsItNeeds(t *testing.T) {
	pages := map[string]string{"rollout": "README", "policies": "README", "long-streams": "README", "limits": "README", "contracts": "README", "budget": "README"} // of several
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
		page := pages[name]
		if page == "" {
			page = name
		}
		text, err := os.ReadFile("../docs/findings/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		joined := strings.Join(strings.Fields(string(text)), " ")
		if want := fmt.Sprintf("`rpclab run %s --quick --rounds %d`", name, needed); !strings.Contains(joined, want) {
			t.Errorf("%s: %d arms, %d rounds of at least %d; docs/findings/%s.md lacks %s", name, len(plan.Arms), plan.Rounds, needed, page, want)
		}
	}
}

// TestThePagesOfQuickRunsInTurnsSayThatTheyDoNotDecideP99: p99 of arms in turns is compared by groups of cycles with
// 1,000 calls each.
func TestThePagesOfQuickRunsInTurnsSayThatTheyDoNotDecideP99(t *testing.T) {
	pages := map[string]string{"proxy-tax": "README"} // of several
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
		text, err := os.ReadFile("../docs/findings/" + cmp.Or(pages[name], name) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("Its %d,%03d calls an arm are too few to decide p99, which needs 4,000.", calls/1000, calls%1000)
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s: the page in docs/findings lacks %q", name, want)
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

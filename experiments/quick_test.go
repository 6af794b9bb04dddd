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

// Quick runs of isolated arms have too few rounds for a verdict. Their pages name the command that has enough.
func TestThePagesOfQuickRunsWithoutAVerdictSayHowManyRoundsItNeeds(t *testing.T) {
	pages := map[string]string{"rollout": "README", "policies": "README", "long-streams": "README", "limits": "README"} // of several
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

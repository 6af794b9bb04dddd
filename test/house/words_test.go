package house

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unclear lists unclear expressions, each with the term that the documentation of gRPC, Kubernetes or a load
// generator uses.
var unclear = []struct{ expression, use string }{
	{`even again`, "balanced again"},
	{`who follows`, "which clients discover new backends"},
	{`beside latency`, "other metrics"},
	{`what decides`, "headline metrics"},
	{`leaner|heavier on`, "uses less CPU, uses more CPU"},
	{`uneven as chance`, "as uneven as random assignment"},
	{`(was|were) not called different`, "no difference found"},
	{`holds? together with`, "are all correct with 95 % confidence"},
	{`limited by the generator`, "the load generator was the bottleneck"},
	{`calls left up to`, "rpclab sent calls up to 20 ms late"},
	{`runs? (that )?goes on|goes on`, "in progress, continues"},
	{`made small`, "scaled down"},
	{`client (was )?told`, "resolver updated"},
	{`crews?|ailments?|deeds?|lookouts?|vigils?`, "callers, fault, action, watcher"},
	{`stands? before|stands? between`, "runs between"},
	{`way of calls|way under comparison|way of the data`, "route, how data flows"},
	{`beside it|ones? beside`, "next to it, and"},
}

// TestUnclearWordsAreNotUsed searches every text of the repository that is not generated.
func TestUnclearWordsAreNotUsed(t *testing.T) {
	listed, err := exec.Command("git", "-C", root, "ls-files", "-z", "--", "*.md", "*.go", "*.yaml", "*.ts", "*.py", "*.java", "*.rs", "*.txt", "*.json", "*.proto", "*.svg").Output()
	if err != nil {
		t.Fatal(err)
	}
	var alternatives []string
	for _, u := range unclear {
		alternatives = append(alternatives, u.expression)
	}
	any := regexp.MustCompile(`(?i)\b(` + strings.Join(alternatives, "|") + `)\b`)
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if strings.HasSuffix(name, "words_test.go") || strings.HasSuffix(name, "-lock.json") || strings.HasSuffix(name, "THIRD_PARTY.md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // it is being moved
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for n := 1; lines.Scan(); n++ {
			if found := any.FindString(lines.Text()); found != "" {
				t.Errorf("%s:%d: says %q; say: %s", name, n, found, better(found))
			}
		}
	}
}

// better returns the term to use instead.
func better(found string) string {
	for _, u := range unclear {
		if regexp.MustCompile(`(?i)^(` + u.expression + `)$`).MatchString(found) {
			return u.use
		}
	}
	return "a plainer word"
}

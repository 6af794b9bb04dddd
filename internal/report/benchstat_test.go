package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestBenchstatHasALineForEachTrial(t *testing.T) {
	d := channels()
	d.Experiment, d.Arms[0].Name = "my test", "a/b c"
	d.Machine.CPUs, d.Arms[1].Name, d.Arms[1].Cell = 8, "http-2", nil
	d.Arms[0].Trials[0].Failed = "the caller died"
	d.Arms[1].Trials[0].Latency.Lost = 0.25
	trials := 0
	for _, arm := range d.Arms {
		trials += len(arm.Trials)
	}
	var out bytes.Buffer
	if err := Benchstat(&out, d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\nrun:") {
		t.Errorf("benchstat puts runs whose configuration differs into tables of their own:\n%s", out.String())
	}
	lines := regexp.MustCompile(`(?m)^BenchmarkMy_test/arm=\S+ [0-9]+( [0-9.e+-]+ [^ \n]+)+$`).FindAllString(out.String(), -1)
	if len(lines) != trials-1 {
		t.Errorf("%d lines, want one for each of %d trials but the failed one:\n%s", len(lines), trials, out.String())
	}
	if first := lines[0]; !strings.Contains(first, "/arm=a_b_c/load.burst=") || !strings.Contains(first, " p50-sec ") || !strings.Contains(first, " p99-sec ") {
		t.Errorf("the first line is %s", first)
	}
	if !strings.Contains(out.String(), "\nBenchmarkMy_test/arm=http-2-8 ") {
		t.Errorf("the arm http-2 is missing:\n%s", out.String())
	}
	for _, line := range lines {
		if name, _, _ := strings.Cut(line, " "); !strings.HasSuffix(name, "-8") {
			t.Errorf("%s does not end with the number of CPUs", name)
		}
	}
	lossy := lines[len(d.Arms[0].Trials)-1]
	if !strings.Contains(lossy, " p99-sec ") || !strings.Contains(lossy, " lost-share") {
		t.Errorf("a trial that lost calls has no p99 or no share of them: %s", lossy)
	}
}

package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func growing(name string, mb ...uint64) result.Arm {
	m := &result.Memory{IntervalMS: 1000}
	for _, v := range mb {
		m.Servers = append(m.Servers, v*1_000_000)
	}
	return result.Arm{Name: name, Measures: result.Measures{Calls: 1}, Trials: []result.Trial{{Round: 1}, {Round: 2, Limits: "cgroup v1", Memory: m}}}
}

func TestMemoryOfServersWithALimitIsDrawnOverTime(t *testing.T) {
	d := result.Document{Arms: []result.Arm{growing("blocking", 100, 300, 700, 800), growing("short", 900, 900)}}
	text := terminal(t, d)
	for _, want := range []string{"Memory of the servers over time", "blocking ▂▂", "██ 3 s of one trial each; the highest bar is 800 MB", "blocking 800"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
	d.Arms[0].Trials[1].Limits = ""
	if text := terminal(t, d); strings.Contains(text, "Memory of the servers") {
		t.Errorf("without a limit the report has a memory chart, want none:\n%s", text)
	}
}

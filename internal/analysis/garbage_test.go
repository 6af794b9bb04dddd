package analysis

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// Servers that collect garbage most of the time show the size of their heap, not their model.
func TestServersThatCollectGarbageRaiseAWarning(t *testing.T) {
	const warning = "other: its Java servers collected garbage for 95 % of the time of the load, as when live data nearly fill their heap"
	for _, c := range []struct {
		share  float64
		server map[string]any
		own    string
		want   string
	}{
		{0.1, map[string]any{"language": "java"}, "", ""},
		{0.95, map[string]any{"language": "java"}, "", warning + " (a part of the machine's memory); unless that limit is the question, raise server.memory"},
		{0.95, map[string]any{"language": "java", "memory": "1536Mi"}, "", warning + " (60 % of server.memory: 1536Mi); unless that limit is the question, raise server.memory"},
		{0.95, map[string]any{"language": "java", "memory": "1536Mi", "heap": "384Mi"}, "", warning + " (server.heap: 384Mi); unless that limit is the question, raise server.heap, and server.memory with it"},
		{0.95, nil, "orders", warning + "; unless that limit is the question, raise the largest heap of the service (-Xmx)"},
	} {
		d := arms(t, 20, 20, 20, 20)
		d.Arms[1].Config = map[string]any{"server": c.server, "service": c.own}
		for i := range d.Arms[1].Trials {
			x := &d.Arms[1].Trials[i]
			x.Servers = map[string]result.ServerUsage{"a": {}, "b": {}}
			x.JVM = &result.JVM{Collecting: c.share * 2 * x.ElapsedMS * 1e3 / float64(x.Calls)} // of two servers
		}
		said := slices.DeleteFunc(Assemble(d).Warnings, func(w string) bool { return !strings.Contains(w, "garbage") })
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("%g, %v: the warnings are %q, want %q", c.share, c.server, got, c.want)
		}
	}
}

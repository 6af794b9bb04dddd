package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestIdleWorkersOfAProxyAreNamed(t *testing.T) {
	of := func(connections ...uint64) result.Trial { return result.Trial{ProxyConnections: connections} }
	d := result.Document{Arms: []result.Arm{
		{Name: "none", Trials: []result.Trial{of()}},
		{Name: "busy", Trials: []result.Trial{of(1, 1)}},
		{Name: "wide", Trials: []result.Trial{of(1, 0, 1, 0), of(0, 2, 0, 0)}},
	}}
	var p page
	idleWorkers(&p, d)
	var text strings.Builder
	if err := writeTerminal(&text, p, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "wide: 2 to 3 of the proxy's 4 workers were idle: callers opened 2 connections, " +
		"and the worker that accepts a connection handles all its calls. More workers help only with more connections."
	if got := strings.Join(strings.Fields(text.String()), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

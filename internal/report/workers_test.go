package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestTheReportSaysWhichWorkersOfAProxyHadNothingToDo(t *testing.T) {
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
	const want = "wide: 2 to 3 of the proxy's 4 workers had nothing to do: callers opened 2 connections, " +
		"and one stays, with all its calls, with the worker that accepted it. More workers help where there are more connections."
	if got := strings.Join(strings.Fields(text.String()), " "); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

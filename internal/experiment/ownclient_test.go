package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfOwnClients(t *testing.T) {
	arm := func(fields string) string { return strings.Replace(head, "{route: headless}", "{"+fields+"}", 1) }
	for name, c := range map[string]struct {
		doc  string
		want []string
	}{
		"right":                  {arm("route: direct, caller: {command: [./mine], dir: x, env: {A: 1}, ready_timeout: 5s, timeout: 1s}"), nil},
		"in place of a kind":     {strings.Replace(arm("caller: {command: [./mine]}"), "route: clusterip,", "caller: {kind: wire, dir: x}, route: direct,", 1), nil},
		"a kind too":             {arm("route: direct, caller: {command: [./mine], kind: wire}"), []string{"caller accepts only one of command and kind"}},
		"an empty command":       {arm("route: direct, caller: {command: []}"), []string{"caller.command is empty: set the program and its arguments"}},
		"settings of ours":       {arm("route: direct, caller: {command: [./mine], hedge: {}}"), []string{"caller.hedge is of rpclab's callers, and caller.command makes its calls itself: remove it"}},
		"ports of ours":          {arm("route: direct, caller: {command: [./mine], limits: {memory: 64Mi, ports: 20}}"), []string{"rpclab cannot limit the local ports of caller.command, which opens its own connections: remove limits.ports"}},
		"channels of ours":       {arm("route: direct, caller: {command: [./mine], channel: per-call}"), []string{"caller.command opens its own channels: remove caller.channel"}},
		"a policy":               {arm("route: headless, policy: round_robin, caller: {command: [./mine]}"), []string{"the client of caller.command chooses its policy itself on the route headless: remove policy"}},
		"a route for Go":         {arm("route: endpointslice, caller: {command: [./mine]}"), []string{"only rpclab's callers in Go support the route endpointslice: use direct, headless, or a route with a proxy"}},
		"no virtual IP":          {arm("caller: {command: [./mine]}"), []string{"caller.command would keep calling one backend on the route clusterip, for which this machine has no virtual IP: use the route forwarder"}},
		"a field without client": {arm("caller: {dir: x}"), []string{"caller.dir is of caller.command: set command, or remove it"}},
		"codes of its own":       {arm("route: direct, caller: {command: [./mine]}, load: {search: {slo: errors.TOO_FEW < 1%, from: 1, to: 9, duration: 5s}}"), nil},
		"codes of no client": {arm("load: {search: {slo: errors.CHEK < 1%, from: 1, to: 9, duration: 5s}}"),
			[]string{`load.search.slo "errors.CHEK < 1%", column 1: no error code "CHEK"; did you mean "CHECK"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("x.yaml", []byte(c.doc), vocabulary)
			var got []string
			for _, line := range lines(err) {
				_, message, _ := strings.Cut(line, ": ")
				got = append(got, message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, c.doc)
			}
		})
	}
}

func TestOwnClientsAreSweptAndEncoded(t *testing.T) {
	p := mustExpand(t, strings.Replace(head, "clusterip", "direct", 1)+"sweep:\n  caller.command: [[./a], [./b, -x]]\n", Options{Arms: []string{"b"}})
	for i, want := range [][]any{{"./a"}, {"./b", "-x"}} {
		caller, _ := p.Trials[i].Config.Map()["caller"].(map[string]any)
		if diff := cmp.Diff(want, caller["command"]); diff != "" || caller["kind"] != nil {
			t.Errorf("the config of cell %d is %v: %s", i, caller, diff)
		}
	}
}

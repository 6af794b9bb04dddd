package dashboards

import (
	"strings"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

// up starts a chain for each mode: three servers and their gateway.
func up(t *testing.T) lab {
	t.Helper()
	l := lab{dir: t.TempDir(), gateways: map[string]string{}}
	var groups []group
	for _, mode := range []string{"clusterip", "headless", "envoy", "endpointslice"} {
		var servers, metrics []string
		for _, id := range []string{"a", "b", "c"} {
			at, counts := free(t), free(t)
			p, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), "server", "--supervised",
				"--id", mode + "-" + id, "--listen", at, "--metrics", counts}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Kill)
			servers, metrics = append(servers, at), append(metrics, counts)
		}
		if mode == "clusterip" {
			servers = servers[:1] // where its one connection goes
		}
		at := free(t)
		start(t, "http://"+at+"/-/ready", testkit.Rpclab(t), "gateway", "--supervised",
			"--listen", at, "--target", strings.Join(servers, ","), "--mode", mode)
		l.gateways[mode] = at
		groups = append(groups,
			group{[]string{at}, map[string]string{"job": "gateway", "mode": mode}},
			group{metrics, map[string]string{"job": "server", "mode": mode}})
	}
	l.write(t, groups)
	return l
}

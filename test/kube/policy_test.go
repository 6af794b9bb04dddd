package kube

import (
	"strings"
	"testing"
)

// TestNetworkPoliciesOfARun connects to the backends of a run from a pod of another namespace. They admit it on the
// route nodeport only, whose callers may be anywhere.
func TestNetworkPoliciesOfARun(t *testing.T) {
	t.Parallel()
	apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: stranger}
---
apiVersion: v1
kind: Pod
metadata: {name: guest, namespace: stranger}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: guest, image: "rpclab.test/box:1", args: [sleep, "3600"]}]
`)
	kubectl(t, "wait", "--for=condition=Ready", "pod/guest", "-n", "stranger", "--timeout=120s")
	for route, admits := range map[string]bool{"clusterip": false, "nodeport": true} {
		t.Run(route, func(t *testing.T) {
			g := begin(t, "testdata/policy.yaml", permitted(t, "guest-"+route, "nodeport"), "--set", "route="+route)
			g.await(t, ` only +\d+/s`)
			var ips []string
			for line := range strings.Lines(kubectl(t, "get", "pods", "-n", g.namespace(t), "-l", "rpclab/role=backend", "-o", `jsonpath={range .items[*]}{.status.podIP}{"\n"}{end}`)) {
				ips = append(ips, strings.TrimSpace(line))
			}
			if len(ips) != 2 {
				t.Errorf("the backends are %v, want 2", ips)
			}
			for _, ip := range ips {
				said := kubectl(t, "exec", "-n", "stranger", "guest", "--", "busybox", "sh", "-c", "busybox nc -w 10 "+ip+" 50051 2>&1; busybox true")
				if refused := strings.Contains(said, "Connection refused"); refused == admits || strings.Contains(said, "timed out") {
					t.Errorf("the backend %s refused a stranger: %t, want %t\n%s", ip, refused, !admits, said)
				}
			}
			s := g.end(t)
			if s.code != 0 || s.document.Arms[0].Calls == 0 || s.document.Arms[0].Failed() > 0 {
				t.Errorf("exit code %d, and %d of %d calls failed, want none:\n%s", s.code, s.document.Arms[0].Failed(), s.document.Arms[0].Calls, s.stderr)
			}
		})
	}
}

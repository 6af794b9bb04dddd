package kube

import (
	"fmt"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// sliced is a Service in a namespace of [shop] whose EndpointSlices have one pod each.
func sliced(t *testing.T, namespace string) {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: sliced, namespace: %s}, spec: {ports: [{name: grpc, port: 80, targetPort: 9000}]}}\n", namespace)
	pods := kubectl(t, "get", "pods", "-n", namespace, "-l", "app=orders", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.podIP}{"\n"}{end}`)
	for line := range strings.Lines(pods) {
		pod, ip, _ := strings.Cut(strings.TrimSpace(line), " ")
		text += fmt.Sprintf(`---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, namespace: %[2]s, labels: {kubernetes.io/service-name: sliced}}
addressType: IPv4
ports: [{name: grpc, port: 9000}]
endpoints: [{addresses: [%[3]s], conditions: {ready: true}, targetRef: {kind: Pod, name: %[1]s, namespace: %[2]s}}]
`, pod, namespace, ip)
	}
	apply(t, text)
}

// TestOnlyKuberesolverMissesEndpointsOfOtherSlices makes calls to a Service with two EndpointSlices.
func TestOnlyKuberesolverMissesEndpointsOfOtherSlices(t *testing.T) {
	t.Parallel()
	shop(t, "shop-sliced")
	sliced(t, "shop-sliced")
	d := mustRun(t, "channels", "--quick", "--rounds", "1", "--service", greeter(t, "service: shop-sliced/sliced"),
		"--arms", "shared,headless,endpointslice,kuberesolver", "--set", "arms.shared.route=xds", "--set", "load.burst=50")
	checkArms(t, d, `^orders-`)
	for _, arm := range d.Arms {
		want := 2
		if arm.Route == "kuberesolver" {
			want = 1
		}
		if got := answering(arm); got != want {
			t.Errorf("route %s: %d pods answered, want %d: %v", arm.Route, got, want, arm.Backends)
		}
	}
}

// answering is the number of backends that answered calls.
func answering(arm result.Arm) (n int) {
	for _, calls := range arm.Backends {
		if calls > 0 {
			n++
		}
	}
	return n
}

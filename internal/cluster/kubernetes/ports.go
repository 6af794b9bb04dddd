package kubernetes

import "rpclab/internal/cluster"

// portOf is the port at which the servers accept calls.
func portOf(spec cluster.Spec) int {
	if spec.Port > 0 {
		return spec.Port
	}
	return servicePort
}

// publishedPort is the port that callers use: that of the fault proxies, if there are any.
func publishedPort(spec cluster.Spec) int {
	if hasFaultProxy(spec) {
		return proxyPort(spec)
	}
	return portOf(spec)
}

// hasFaultProxy says whether a fault proxy runs between callers and each server.
func hasFaultProxy(spec cluster.Spec) bool { return spec.FaultProxy && spec.Program != nil }

// canCut says whether the servers can cut their own connections.
func canCut(spec cluster.Spec) bool { return spec.Cut && spec.Program == nil && spec.Command == nil }

// The containers of rpclab beside a user's server have four ports, from firstProxyPort on: of the fault proxy, of its
// readiness checks, and of its agent and the meter on the loopback address. All containers of a pod share their ports, and few programs use these.
const (
	firstProxyPort      = 17070
	otherFirstProxyPort = 27070 // for a server at one of the four
)

func proxyPort(spec cluster.Spec) int {
	if port := portOf(spec); port >= firstProxyPort && port < firstProxyPort+4 {
		return otherFirstProxyPort
	}
	return firstProxyPort
}

func readyPort(spec cluster.Spec) int { return proxyPort(spec) + 1 }

// agentPort is the port of the agent that runs the server, or the fault proxy before it.
func agentPort(spec cluster.Spec) int {
	if hasFaultProxy(spec) {
		return proxyPort(spec) + 2
	}
	return mainPort
}

// meterPort is the port of the agent that measures the server of a user.
func meterPort(spec cluster.Spec) int { return proxyPort(spec) + 3 }

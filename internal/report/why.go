package report

import (
	"fmt"
	"strconv"
	"strings"

	"rpclab/internal/result"
)

// reason is how the calls of an arm travel, and which pattern that should give;
// "" where any can come of it.
type reason struct {
	clause string
	gives  string
}

// The patterns in which calls fall, as a result names them.
const (
	oneTakesAll = "one-takes-all"
	uneven      = "uneven"
	asChance    = "as-chance"
	takesTurns  = "takes-turns"
	tooFewCalls = "too-few-calls"
)

// follows are the routes on which the client itself knows every backend.
var follows = map[string]bool{"headless": true, "endpointslice": true, "kuberesolver": true}

// draws are the routes on which every connection goes to a backend drawn at random.
var draws = map[string]bool{"clusterip": true, "forwarder": true, "nodeport": true}

// why explains the balance from the route and the channels.
func why(a result.Arm) reason {
	connections, pooled := pool(a.Channel)
	several := callerCount(a)
	if a.Config["gateway"] != nil {
		several = 1 // it makes the calls of all
	}
	caller, _ := a.Config["caller"].(map[string]any)
	switch {
	case a.Route == "direct":
		return reason{"the client dials one backend by its address", oneTakesAll}
	case a.Channel == "per-request" && a.Describe != "":
		return reason{strings.TrimRight(clean(a.Describe), "."), ""} // as many calls as a request makes
	case caller["style"] == "bidi" && caller["streams"] == nil && several*max(connections, 1) == 1:
		return reason{"a stream stays with the backend on which it began", oneTakesAll}
	case caller["style"] == "bidi":
		return reason{"each stream stays with the backend on which it began", ""}
	case follows[a.Route] && a.Channel == "per-call":
		return reason{"each call opens a channel that knows every backend and begins its turn at a random one", asChance}
	case follows[a.Route] && pooled:
		return reason{fmt.Sprintf("each of %d channels knows every backend and takes turns", connections), takesTurns}
	case follows[a.Route] && several > 1:
		return reason{fmt.Sprintf("each of %d clients knows every backend and takes turns", several), takesTurns}
	case follows[a.Route]:
		return reason{"the client knows every backend and takes turns", takesTurns}
	case draws[a.Route] && a.Channel == "per-call":
		return reason{"each call opens a connection, and each connection goes to a random backend", asChance}
	case draws[a.Route] && several*max(connections, 1) > 1:
		return reason{fmt.Sprintf("%d connections, each drawn once at random, carry the calls in turn", several*max(connections, 1)), ""}
	case draws[a.Route]:
		return reason{"one HTTP/2 connection carries every call", oneTakesAll}
	}
	if a.Describe != "" {
		return reason{strings.TrimRight(clean(a.Describe), "."), ""}
	}
	return reason{strings.TrimSpace(clean(a.Route + ", " + a.Channel)), ""}
}

// pool reads the size out of "pool of 16".
func pool(channel string) (connections int, ok bool) {
	size, ok := strings.CutPrefix(channel, "pool of ")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(size)
	return n, err == nil && n > 0
}

package experiment

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var vocabulary = Vocabulary{
	Routes:               []string{"direct", "clusterip", "headless", "endpointslice", "kuberesolver", "envoy", "istio-xds"},
	Callers:              []string{"grpc-go", "wire", "http", "tcp", "python"},
	BasicCallers:         []string{"wire"},
	OtherLanguageCallers: []string{"python"},
	FullClientRoutes:     []string{"kuberesolver", "istio-xds"},
	OwnRetryRoutes:       []string{"istio-xds"},
	TCPRoutes:            []string{"direct", "clusterip"},
	RESTRoutes:           []string{"direct", "clusterip", "envoy"},
	GoOnlyRoutes:         []string{"endpointslice"},
	Languages:            []string{"go"},
	Models:               map[string][]string{"go": {"grpc", "rest", "rest-1", "tcp"}},
	Features:             map[string][]string{"grpc-go": {"stream", "renew", "compress", "per-user", "calculate", "ahead", "service", "flow", "service_config", "keepalive"}, "wire": {"calculate", "service", "flow"}, "http": {"service", "flow", "http2"}, "python": {"stream"}, "go/rest": {"http2"}},
	Protocols:            map[string][]string{"go/rest": {"rest"}, "go/rest-1": {"rest"}, "go/tcp": {"tcp"}, "http": {"rest"}, "tcp": {"tcp"}},
	Policies:             map[string][]string{"headless": {"round_robin", "least_request"}, "endpointslice": {"round_robin", "pick_first"}},
	OutlierRoutes:        []string{"headless", "endpointslice"},
	CheckServiceConfig: func(text string) error {
		if strings.Contains(text, "no_such_policy") {
			return errors.New("no supported policies found in [no_such_policy]")
		}
		return nil
	},
}

// head is the shortest valid document; tests append to it from line 6 on.
const head = `experiment: x
question: Which?
defaults: {workload: {greet: {delay: 1ms}}, route: clusterip, load: {burst: 5}}
arms: {a: {}, b: {route: headless}}
rounds: 2
`

// withHead joins head with more lines.
func withHead(lines ...string) string { return head + strings.Join(lines, "\n") + "\n" }

// searching is head with a search for its load.
func searching(search string) string {
	return strings.Replace(head, "burst: 5", "search: "+search, 1)
}

func mustExpand(t *testing.T, doc string, options Options) Plan {
	t.Helper()
	p, err := Expand("x.yaml", []byte(doc), options, vocabulary)
	if err != nil {
		t.Fatalf("Expand: %v\n%s", err, doc)
	}
	return p
}

// lines of an error, none when it is nil.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// count returns "1" to "n".
func count(n int) []string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

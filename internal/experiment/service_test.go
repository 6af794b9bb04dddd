package experiment

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const orders = `service: orders
server:
  command: ["./orders", "-addr", "{{.Address}}"]
  replicas: 2
calls:
  get: {method: orders.v1.Orders/Get, data: {customer_id: "{{randomInt 1 99}}", note: "a \"b\" {{printf \"%s\" .Worker}}"}}
  list: {http: GET, path: "/orders?customer=1", check: "status == 200"}
`

func TestErrorsOfInvalidServiceFiles(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(orders, old, new, 1) }
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty": {"", []string{"orders.yaml: the file is empty; a service file begins with `service: NAME`"}},
		"an experiment": {"experiment: x\n", []string{
			"orders.yaml:1:1: the service needs calls (the calls that arms can make, by name)",
			"orders.yaml:1:1: the service needs server (where the service runs)",
			"orders.yaml:1:1: the service needs service (the service's name)",
			`orders.yaml:1:1: unknown field "experiment"; known names: service, server, calls, proto, import_paths, protoset, metadata, authority, tls, identity`}},
		"misspelled":   {replace("command:", "comand:"), []string{"orders.yaml:3:3: server needs command, image, deployment, service or addresses", `orders.yaml:3:3: unknown field "comand" in server; did you mean "command"?`}},
		"both":         {replace("  replicas: 2", "  addresses: [127.0.0.1:1]"), []string{"orders.yaml:4:3: server accepts only one of command and addresses"}},
		"no calls":     {replace("calls:\n  get:", "calls: {}\nmetadata:\n  get:"), []string{"orders.yaml:5:8: calls must be a mapping of names to settings, not an empty mapping", "orders.yaml:7:8: metadata: get must be text, not a mapping", "orders.yaml:8:9: metadata: list must be text, not a mapping"}},
		"not a method": {replace("orders.v1.Orders/Get", "Get"), []string{`orders.yaml:6:17: call get: "Get" is not a method: use the form package.Service/Method`}},
		"path":         {replace(`"/orders?customer=1"`, "orders"), []string{"orders.yaml:7:27: call list: an HTTP request needs a path that begins with /"}},
		"ready":        {replace("  replicas: 2", "  ready: rest"), []string{`orders.yaml:4:10: server.ready must be grpc, tcp or {http: HTTP}, not "rest"`}},
		"identity":     {orders + "identity: {cookie: x}\n", []string{"orders.yaml:8:11: identity needs trailer, header or field", `orders.yaml:8:12: unknown field "cookie" in identity; known names: trailer, header, field`}},
		"several names": {strings.Replace(replace("  replicas: 2\n", ""), `command: ["./orders", "-addr", "{{.Address}}"]`, `addresses: ["a.test:443", "127.0.0.1:443", "b.test:443"]`, 1) + "tls: {}\n",
			[]string{"orders.yaml:3:14: the addresses have the names a.test and b.test, and all calls verify one name in the server's certificate: set tls.servername"}},
		"env of addresses":   {strings.Replace(replace("  replicas: 2\n", "  env: {A: b}\n"), `command: ["./orders", "-addr", "{{.Address}}"]`, `addresses: ["127.0.0.1:1"]`, 1), []string{"orders.yaml:4:3: server.env does not apply to server.addresses, only to server.command, server.deployment or server.image: remove it"}},
		"not a name":         {strings.Replace(replace("  replicas: 2\n", ""), `command: ["./orders", "-addr", "{{.Address}}"]`, "service: orders", 1), []string{`orders.yaml:3:12: server.service: "orders" is not NAMESPACE/NAME`}},
		"pull secret":        {strings.Replace(replace("replicas: 2", "pull_secret: registry"), `command: ["./orders", "-addr", "{{.Address}}"]`, "image: orders", 1), []string{`orders.yaml:4:16: server.pull_secret: "registry" is not NAMESPACE/NAME`}},
		"args":               {replace("  replicas: 2", "  args: [x]"), []string{"orders.yaml:4:3: server.args does not apply to server.command, only to server.image: remove it"}},
		"files of a command": {replace("  replicas: 2", "  files: {/a: b}"), []string{"orders.yaml:4:3: server.files does not apply to server.command, only to server.deployment or server.image: remove it"}},
		"files": {strings.Replace(replace("replicas: 2", "files: {a: b, /c/: d, /e: f, /e/g: h}"), `command: ["./orders", "-addr", "{{.Address}}"]`, "image: orders", 1), []string{
			`orders.yaml:4:11: server.files: "a" is not the absolute path of a file in the pods, such as /etc/tls/tls.crt`,
			`orders.yaml:4:17: server.files: "/c/" is not the absolute path of a file in the pods, such as /etc/tls/tls.crt`,
			"orders.yaml:4:25: server.files: /e is a file, and the directory of /e/g: change one of the paths"}},
		"ready as is": {strings.Replace(replace("replicas: 2", "ready: tcp"), `command: ["./orders", "-addr", "{{.Address}}"]`, "service: shop/orders", 1), []string{"orders.yaml:4:3: server.ready does not apply to server.service, only to server.addresses, server.command, server.deployment or server.image: remove it"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(c.text)}, vocabulary)
			if diff := cmp.Diff(c.want, lines(err)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, c.text)
			}
		})
	}
}

// A service file may say how the service runs on this machine and how on Kubernetes. Its identity may be that of the server.
func TestAServiceRunsInAnotherWayOnEachCluster(t *testing.T) {
	const text = `service: orders
server:
  command: ["./orders", "{{.Address}}"]
  image: orders:1.4
  args: ["{{.Address}}"]
  dir: work
  resources: {cpus: 2}
  replicas: 4
  identity: {trailer: x-pod}
calls: {get: {method: a.B/C}}
`
	for on, want := range map[string]ServiceServer{
		"local":      {Command: []string{"./orders", "{{.Address}}"}, Dir: "work"},
		"":           {Command: []string{"./orders", "{{.Address}}"}, Dir: "work"},
		"kubernetes": {Image: "orders:1.4", Args: []string{"{{.Address}}"}, Resources: &Resources{CPUs: 2}},
	} {
		read, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(text), On: on}, vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		want.Replicas = 4
		if diff := cmp.Diff(want, read.Server); diff != "" || read.Identity.Trailer != "x-pod" {
			t.Errorf("on %q: (-want +got)\n%s, identity %+v; want that of the server", on, diff, read.Identity)
		}
	}
	for change, want := range map[[2]string]string{
		{"image: orders:1.4", "image: orders:1.4\n  service: shop/orders"}: "", // of the other cluster
		{"image: orders:1.4", "addresses: [a.test:1]"}:                     "orders.yaml:4:3: server accepts only one of command and addresses",
		{"calls:", "identity: peer\ncalls:"}:                               "orders.yaml:9:3: the service has two identities: remove server.identity, or the other",
	} {
		_, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(strings.Replace(text, change[0], change[1], 1))}, vocabulary)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change[1], err, want)
		}
	}
	doc := strings.NewReplacer("service: orders\n", "", "\n", "\n    ").Replace(text)
	doc = "experiment: x\nquestion: y?\nservices:\n  orders:\n    " + doc + "\ndefaults: {service: orders, workload: {call: get}, route: clusterip, load: {burst: 5}}\narms: {a: {}}\n"
	p, err := Expand("x.yaml", []byte(doc), Options{Rounds: 1, On: "kubernetes"}, vocabulary)
	if err != nil || p.Services[0].Server.Image == "" || p.Services[0].Server.Command != nil || p.Trials[0].Config.Server.CPUs != 2 {
		t.Errorf("%v, %+v; want the image, with its limit", err, p.Services)
	}
}

func TestTheNameOfAddressesIsVerified(t *testing.T) {
	for want, addresses := range map[string][]string{"a.test": {"a.test:443", "a.test:444"}, "": {"127.0.0.1:443", "[::1]:443"}} {
		if got := (ServiceServer{Addresses: addresses}).HostName(); got != want {
			t.Errorf("the name of %v is %q, want %q", addresses, got, want)
		}
	}
}

func TestTheNameOfAddressesIsTheirAuthority(t *testing.T) {
	for want, addresses := range map[string][]string{
		"a.test:8443": {"a.test:8443"}, "a.test": {"a.test:443", "127.0.0.1:1"}, "": {"127.0.0.1:8443"}, "b.test": {"b.test:1", "b.test:2"},
	} {
		if got := (ServiceServer{Addresses: addresses}).Authority(443); got != want {
			t.Errorf("the authority of %v is %q, want %q", addresses, got, want)
		}
	}
}

func TestTemplatesInDataAreNotEscaped(t *testing.T) {
	read, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(orders)}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	if want := Data(`{"customer_id":"{{randomInt 1 99}}","note":"a \"b\" {{printf "%s" .Worker}}"}`); read.Calls[0].Data != want {
		t.Errorf("the data is %s, want %s", read.Calls[0].Data, want)
	}
}

func TestDataFilesAreRelativeToTheServiceFile(t *testing.T) {
	s := Service{ServiceBody: ServiceBody{Calls: []ServiceCall{{Data: `"@a.csv"`}, {Data: `"@/b.json"`}, {Data: `{"name":"@c"}`}}}}
	placed := s.inDirectory("dir")
	var files []string
	for _, c := range placed.Calls {
		files = append(files, c.Data.File())
	}
	if diff := cmp.Diff([]string{"dir/a.csv", "/b.json", ""}, files); diff != "" || s.Calls[0].Data.File() != "a.csv" {
		t.Errorf("(-want +got)\n%s, and the service itself has %s", diff, s.Calls[0].Data)
	}
}

// withService expands a built-in experiment with the service orders.
func withService(t *testing.T, name string, o Options) (Plan, error) {
	t.Helper()
	doc, err := os.ReadFile("../../experiments/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	o.Service = &ServiceDocument{File: "dir/orders.yaml", Text: []byte(orders)}
	return Expand(name+".yaml", doc, o, vocabulary)
}

func TestABuiltInExperimentRunsOnAService(t *testing.T) {
	for _, quick := range []bool{false, true} {
		p, err := withService(t, "channels", Options{Quick: quick})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Services) != 1 || p.Services[0].Server.Dir != "dir" || len(p.Published) > 0 {
			t.Errorf("services %+v, published %v; want orders in dir, and no published figures", p.Services, p.Published)
		}
		for _, trial := range p.Trials {
			c := trial.Config
			if c.Service != "orders" || c.Workload.Call != "get" || c.Server.Replicas != 2 {
				t.Fatalf("arm %s calls %q, %+v, with %d backends; want call get of orders with its 2 backends", trial.Arm, c.Service, c.Workload, c.Server.Replicas)
			}
		}
	}
	p, err := withService(t, "churn", Options{Call: "get", Set: []string{"server.replicas=4"}})
	if err != nil || p.Trials[0].Config.Server.Replicas != 4 {
		t.Errorf("%v: --set does not override the service", err)
	}
}

// The clients that arms name are what they compare.
func TestArmsKeepTheirClientsOnAServiceOfHTTP(t *testing.T) {
	doc := `experiment: clients
question: Which client is the fastest?
defaults: {workload: {greet: {}}, route: direct, load: {burst: 5}, caller: {timeout: 3s}}
arms: {plain: {}, wire: {caller: {kind: wire}}, mine: {caller: {command: [./mine]}}}
rounds: 1
`
	own := vocabulary
	own.Protocols = maps.Clone(vocabulary.Protocols)
	own.Protocols["wire"], own.Protocols["command"] = []string{"grpc", "rest"}, []string{"grpc", "rest", "tcp"}
	p, err := Expand("x.yaml", []byte(doc), Options{Service: &ServiceDocument{File: "orders.yaml", Text: []byte(orders)}, Call: "list"}, own)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range p.Trials {
		c := trial.Config.Caller
		if got, want := c.Kind+strings.Join(c.Command, ""), map[string]string{"plain": "http", "wire": "wire", "mine": "./mine"}[trial.Arm]; got != want || c.Timeout != 3*time.Second {
			t.Errorf("arm %s calls with %s and a timeout of %v, want %s and 3 s", trial.Arm, got, c.Timeout, want)
		}
	}
}

func TestTheArmsThatCanCallAServiceRun(t *testing.T) {
	if _, err := withService(t, "channels", Options{Call: "list", Arms: []string{"new-channel", "shared", "shared-again"}}); err != nil {
		t.Error(err)
	}
}

func TestTheCallOfAServiceIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"channels", Options{Call: "gett"}, `--call gett: dir/orders.yaml has no call "gett"; did you mean "get"?`},
		{"security", Options{}, "experiment security compares what only rpclab's own servers have (arm unary-tls sets server.security, "},
		{"security", Options{Arms: []string{"unary-bare", "unary-tls"}}, "it cannot run on a service. To measure what TLS costs your service, write an experiment that names two services, one of them with tls, as examples/python-service/tls.yaml does"},
		{"channels", Options{Call: "list"}, "channels.yaml:27:12: route headless does not support REST: use the route direct, clusterip or envoy"},
		{"channels", Options{Call: "list"}, "\n--service dir/orders.yaml: the other arms of channels can call the service: add --arms new-channel,shared,shared-again"},
		{"channels", Options{Call: "list", Arms: []string{"shared", "headless"}}, "channels.yaml:27:12: route headless does not support REST: use the route direct, clusterip or envoy"},
		{"channels", Options{Call: "get", Arms: []string{"foo"}}, `--arms foo: no arm "foo"; known names: new-channel, shared, kuberesolver, headless, endpointslice, pool, shared-again`},
		{"channels", Options{Call: "list", Arms: []string{"foo"}}, `--arms foo: no arm "foo"; known names: new-channel, shared, shared-again`},
		{"channels", Options{Call: "list", Arms: []string{"shared", "headless", "foo"}}, `--arms foo: no arm "foo"; known names: new-channel, shared, shared-again`},
		{"channels", Options{Call: "list", Arms: []string{"new-chanel", "foo"}, Quick: true}, `--arms new-chanel: no arm "new-chanel"; did you mean "new-channel"?`},
		{"security", Options{Arms: []string{"foo"}}, `--arms foo: no arm "foo"; known names: `},
		{"channels", Options{Call: "list", Arms: []string{"shared", "new-channel"}, Set: []string{"caller.kind=grpc-go"}}, "call list of the service orders is REST, but the caller grpc-go speaks gRPC: set caller.kind to "},
	} {
		_, err := withService(t, c.name, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), `no arm "headless"`) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Fault proxies encrypt calls in place of the service, so they must not be what the arms differ in.
func TestFaultProxiesOfServicesWithTLS(t *testing.T) {
	doc := `experiment: faults
question: What does a slow backend cost?
services:
  a: {server: {command: [./a, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cacert: ca.pem}}
  b: {server: {command: [./b, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cacert: ca.pem}}
defaults: {route: clusterip, workload: {call: get}, load: {burst: 5}}
arms:
  a: {service: a}
  b: {service: b}
events: [{at: 1ms, slow: {backends: 1, by: 1s}}]
`
	for change, want := range map[[2]string]string{
		{"", ""}: "",
		{"b: {service: b}", "b: {service: b, caller: {command: [./mine]}}"}:                                                                                           "x.yaml:10:26: slow needs a proxy with a certificate of the run, and rpclab cannot make the client of caller.command trust it: remove tls from the service b, use a caller of rpclab, or use kill, stop, pause, flap, roll, scale or cut",
		{`./b, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cacert: ca.pem}`, `./b, "{{.Address}}"]}, calls: {get: {method: a.B/C}}`}:                       "x.yaml:10:26: arm a uses TLS and arm b clear text, and slow needs a proxy that encrypts calls in place of the services, so the difference would be that of the proxy's TLS: remove the event, or compare arms with the same tls",
		{`./b, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cacert: ca.pem`, `./b, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cert: a, key: b`}: "arm a uses TLS and arm b TLS with a client certificate",
		{"slow: {backends: 1, by: 1s}", "kill: 1"}: "",
	} {
		_, err := Expand("x.yaml", []byte(strings.Replace(doc, change[0], change[1], 1)), Options{Rounds: 1}, vocabulary)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", change[1], err, want)
		}
	}
}

// Proxies of rpclab encrypt connections to a service, and those of a mesh cannot.
func TestRoutesWithProxiesToServicesWithTLS(t *testing.T) {
	words := vocabulary
	words.Routes = append(slices.Clone(words.Routes), "envoy", "istio")
	words.ProxyRoutes, words.MeshRoutes = []string{"envoy", "istio"}, []string{"istio"}
	doc := `experiment: proxies
question: What does a proxy cost?
services:
  shop: {server: {command: [./shop, "{{.Address}}"]}, calls: {get: {method: a.B/C}}, tls: {cacert: ca.pem}}
defaults: {service: shop, workload: {call: get}, route: clusterip, load: {burst: 5}}
arms:
  none: {}
  proxy: {route: envoy}
`
	for proxy, want := range map[string]string{
		"route: envoy": "",
		"route: istio": "x.yaml:8:18: route istio balances calls, and its proxies cannot read those of the service shop, which its clients encrypt: they would balance connections only. If the service accepts calls in clear text too, remove tls, since the mesh encrypts them; or use route clusterip, which balances connections",
		"route: envoy, caller: {command: [./mine]}": "x.yaml:8:18: route envoy has a proxy that accepts calls in clear text and encrypts those to the service shop, and rpclab does not know whether the client of caller.command can make such calls: use a caller of rpclab, use another route, or remove tls",
	} {
		_, err := Expand("x.yaml", []byte(strings.Replace(doc, "route: envoy", proxy, 1)), Options{Rounds: 1}, words)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v\nwant %s", proxy, err, want)
		}
	}
}

func TestAnExperimentNamesItsServices(t *testing.T) {
	doc := `experiment: versions
question: Is version 2 slower?
services:
  old: {server: {command: [./old, "{{.Address}}"]}, calls: {get: {method: a.B/C}}}
  new: {server: {command: [./new, "{{.Address}}"], replicas: 1}, calls: {get: {method: a.B/C}}}
defaults: {route: clusterip, workload: {call: get}, load: {burst: 5}, server: {drain: 1s}}
arms:
  old: {service: old}
  new: {service: new}
`
	p, err := Expand(filepath.Join("x", "v.yaml"), []byte(doc), Options{Rounds: 1}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range p.Trials {
		if want := map[string]int{"old": 3, "new": 1}[trial.Arm]; trial.Config.Server.Replicas != want || trial.Config.Service != trial.Arm {
			t.Errorf("arm %s calls %s with %d backends, want its own service with %d", trial.Arm, trial.Config.Service, trial.Config.Server.Replicas, want)
		}
	}
	for change, want := range map[[2]string]string{
		{"arms:", "events: [{at: 1ms, roll_to: ne}]\narms:"}: `v.yaml:7:29: no service "ne" in services; did you mean "new"?`,
		{"service: new}", "service: ne}"}:                    `v.yaml:9:18: no service "ne" in services; did you mean "new"?`,
		{"{call: get}", "{call: gut}"}:                       `v.yaml:6:47: the service old has no call "gut"; did you mean "get"?`,
		{"{call: get}", "{greet: {delay: 1ms}}"}:             "v.yaml:6:40: the service old has methods of its own: set workload to call: get",
		{"server: {drain: 1s}", "server: {model: rest}"}:     "v.yaml:6:87: server.model is of rpclab's own servers, and this arm calls the service old: remove it",
		{"  old: {service: old}", "  old: {}"}:               "v.yaml:6:47: workload.call names a call of a service: set service too",
		{"{server: {command: [./new, \"{{.Address}}\"], replicas: 1}", "{service: new, server: {command: [./new]}"}: `v.yaml:5:9: unknown field "service"`,
	} {
		_, err := Expand("v.yaml", []byte(strings.Replace(doc, change[0], change[1], 1)), Options{Rounds: 1}, vocabulary)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", change[1], err, want)
		}
	}
}

// With caller.stream a call is one message, so a call of the other arms is one message, too.
func TestCallsBesideStreamsOfCallsAreOneMessage(t *testing.T) {
	doc := `experiment: streams
question: Are streams faster?
services:
  s:
    server: {command: [./s, "{{.Address}}"]}
    calls:
      chat: {method: a.B/C, stream: {requests: 10, messages: 10, ping_pong: true}}
      watch: {method: a.B/W, stream: {messages: 5}}
defaults: {service: s, route: clusterip, workload: {call: chat}, load: {burst: 5}}
arms:
  unary: {}
  streams: {caller: {stream: {}}}
`
	for _, test := range []struct {
		without string
		want    CallStream
	}{
		{"", CallStream{Requests: 1, Messages: 1, PingPong: true}},
		{"  streams: {caller: {stream: {}}}\n", CallStream{Requests: 10, Messages: 10, PingPong: true}},
	} {
		p, err := Expand("s.yaml", []byte(strings.Replace(doc, test.without, "", 1)), Options{Rounds: 1}, vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		calls := p.Services[0].Calls
		if *calls[0].Stream != test.want || calls[1].Stream.Messages != 5 {
			t.Errorf("without %q: streams %+v and %+v, want %+v and 5 messages", test.without, *calls[0].Stream, *calls[1].Stream, test.want)
		}
	}
}

// In pods, the signal of the image stops a backend unless the file sets another.
func TestAServiceThatSetsOnlyItsGraceHasNoSignal(t *testing.T) {
	for stop, want := range map[string]Stop{
		"{grace: 5s}":                {Grace: 5 * time.Second},
		"{signal: QUIT}":             {Signal: "QUIT", Grace: 30 * time.Second},
		"{signal: TERM, grace: 10s}": {Signal: "TERM", Grace: 10 * time.Second},
	} {
		text := strings.Replace(orders, "replicas: 2", "stop: "+stop, 1)
		s, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(text)}, vocabulary)
		if err != nil || s.Server.Stop != want {
			t.Errorf("%s: %+v (%v), want %+v", stop, s.Server.Stop, err, want)
		}
	}
}

// How many pods of a Service run is known only in the cluster.
func TestBackendsThatRunAlreadyAreNotCounted(t *testing.T) {
	const doc = `experiment: x
question: q?
services: {shop: {server: {service: shop/orders}, calls: {get: {method: a.B/C}}}}
defaults: {service: shop, workload: {call: get}, route: clusterip, load: {open: {rate: 5, duration: 9s}}}
arms: {a: {}}
`
	for events, want := range map[string]string{
		"[{at: 1s, kill: 4}]":                      "",
		"[{at: 1s, scale: 2}, {at: 2s, kill: 4}]":  "x.yaml:6:45: kill 4: only 2 backends exist at that time",
		"[{at: 1s, kill: 40}, {at: 2s, scale: 4}]": "",
	} {
		_, err := Expand("x.yaml", []byte(doc+"events: "+events+"\n"), Options{Rounds: 1, AllowDisruption: true, On: "kubernetes"}, vocabulary)
		if got := strings.Join(lines(err), "\n"); got != want {
			t.Errorf("%s: %q, want %q", events, got, want)
		}
	}
}

// A host name can stand for the addresses of several pods, so a load balances its calls.
func TestALoadOfAHostNameIsBalanced(t *testing.T) {
	for addresses, want := range map[string][2]string{ // route and policy
		"[orders.shop.svc:9000]":         {"endpointslice", "round_robin"},
		"[127.0.0.1:1, 127.0.0.2:1]":     {"endpointslice", "round_robin"},
		"[127.0.0.1:9000]":               {"direct", ""},
		"[localhost:9000]":               {"direct", ""},
		"[localhost:9000, localhost:91]": {"endpointslice", "round_robin"},
	} {
		text := strings.NewReplacer(`command: ["./orders", "-addr", "{{.Address}}"]`, "addresses: "+addresses, "  replicas: 2\n", "").Replace(orders)
		s, err := ReadService(ServiceDocument{File: "orders.yaml", Text: []byte(text)}, vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		document, err := OneLoad{Name: "load", Service: s, Call: "get", Load: map[string]any{"burst": 1}, Policy: "round_robin"}.Document()
		var got struct {
			Defaults struct{ Route, Policy string }
		}
		if err := errors.Join(err, json.Unmarshal(document, &got)); err != nil || [2]string{got.Defaults.Route, got.Defaults.Policy} != want {
			t.Errorf("%s: %+v (%v), want the route %s and the policy %s", addresses, got.Defaults, err, want[0], want[1])
		}
	}
}

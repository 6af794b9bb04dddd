package experiment

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Service is what the calls of arms invoke in place of rpclab's own servers.
type Service struct {
	Name        string `yaml:"-" key:"true"`
	ServiceBody `yaml:",inline"`
}

// ServiceFile is a decoded service file.
type ServiceFile struct {
	Name        string `yaml:"service" doc:"the service's name" required:"true" slug:"true"`
	ServiceBody `yaml:",inline"`
}

// ServiceBody says how a service is started and called.
type ServiceBody struct {
	Server      ServiceServer `yaml:"server" doc:"where the service runs" required:"true"`
	Calls       []ServiceCall `yaml:"calls" doc:"the calls that arms can make, by name" required:"true"`
	Proto       []string      `yaml:"proto" doc:"files that define the methods (default: ask the server by reflection)"`
	ImportPaths []string      `yaml:"import_paths" doc:"directories in which the files and their imports are (default: that of each file)"`
	Protoset    string        `yaml:"protoset" doc:"compiled descriptor set that defines the methods, as protoc --include_imports -o writes it"`
	Metadata    Metadata      `yaml:"metadata" doc:"metadata of every call, or headers of an HTTP request; values can be templates, and a list has several values"`
	Authority   string        `yaml:"authority" doc:"value of :authority, or of the header Host (default: the host name in server.addresses, or the target of the route)"`
	TLS         *ServiceTLS   `yaml:"tls" doc:"encryption of connections (default: none)"`
	Identity    Identity      `yaml:"identity" doc:"how rpclab tells which backend answered (default: peer)"`

	node *node // in the document
}

// ErrorAt returns an error with the position of a field: of the call, or of the service if there is no such call or the
// call does not set it. It is nil if err is nil, and err if that has a position or the service is of no document.
func (s ServiceBody) ErrorAt(call, field string, err error) error {
	var placed Error
	if err == nil || s.node == nil || errors.As(err, &placed) {
		return err
	}
	at, ofCall := s.node.get("calls").get(call).find([]string{field})
	if own := s.node.get(field); !ofCall && own != nil {
		at = own
	}
	if at == nil {
		at = s.node
	}
	placed = at.at.error(err.Error())
	placed.cause = err
	return placed
}

// InPods reports whether rpclab starts the service in pods of Kubernetes.
func (s ServiceBody) InPods() bool { return s.Server.Image != "" || s.Server.Deployment != "" }

// ServiceServer is exactly one way in which a service runs. A document can have one for this machine and one for
// Kubernetes; reading it leaves that of the run.
type ServiceServer struct {
	Command    []string          `yaml:"command" doc:"program and arguments of one backend on this machine; each can contain {{.Address}}, {{.Host}}, {{.Port}} and {{.ID}}" alternative:"local"`
	Image      string            `yaml:"image" doc:"container image of one backend on kubernetes" alternative:"kubernetes"`
	Deployment string            `yaml:"deployment" doc:"a Deployment on kubernetes, NAMESPACE/NAME: rpclab runs copies of its pods in the namespace of the run" alternative:"kubernetes"`
	Service    string            `yaml:"service" doc:"a Service on kubernetes, NAMESPACE/NAME, whose pods run already; rpclab starts and stops nothing" alternative:"kubernetes"`
	Addresses  []string          `yaml:"addresses" doc:"addresses (host:port) at which the service runs already; rpclab starts and stops nothing" alternative:"local"`
	PullSecret string            `yaml:"pull_secret" doc:"image pull secret of the image, NAMESPACE/NAME, which rpclab copies into the namespace of the run (default: the nodes need none)"`
	Dir        string            `yaml:"dir" doc:"working directory of the command (default: that of the file)"`
	Args       []string          `yaml:"args" doc:"arguments of the image's entry point; each can contain {{.Address}} and the rest"`
	Env        map[string]string `yaml:"env" doc:"environment variables of the command, of the image, or of the server in the copied pods; values can contain {{.Address}} and the rest"`
	Files      map[string]string `yaml:"files" doc:"files of this machine in the pods, by their path there, such as the certificate and the key of the server; with a Deployment, they replace a Secret that it mounts there, and single files of a ConfigMap"`
	Port       int               `yaml:"port" doc:"port at which a pod accepts calls, or port of the Service (default: 50051 for an image; else the only one, or the one named grpc or http)" min:"1" max:"65535"`
	Resources  *Resources        `yaml:"resources" doc:"limits of a pod, where the experiment does not set server.cpus and server.memory"`
	Replicas   int               `yaml:"replicas" doc:"number of backends, where the experiment does not set server.replicas; with --service, also in place of the number in its defaults" min:"1" max:"250"`
	Ready      Ready             `yaml:"ready" doc:"how a backend shows that it serves: grpc (its health service, if it has one), tcp, or {http: PATH} (default: grpc; tcp if all calls are HTTP requests)"`
	Timeout    time.Duration     `yaml:"timeout" doc:"time until a backend must be ready (default: 1m; 5s for addresses)" min:"100ms" max:"10m"`
	Stop       Stop              `yaml:"stop" doc:"how a backend is stopped"`
	Identity   Identity          `yaml:"identity" doc:"the same as identity of the service"`
}

// Resources are the limits of a pod.
type Resources struct {
	CPUs   float64 `yaml:"cpus" doc:"CPU limit (default: none)" min:"0.01" max:"256"`
	Memory Bytes   `yaml:"memory" doc:"memory limit, such as 256Mi (default: none)" min:"8Mi" max:"1Ti"`
}

// HostName returns the host name of the addresses; empty: they are IP addresses, or have several names.
func (s ServiceServer) HostName() string {
	if names := s.hostNames(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// Authority returns what a client of the addresses sends as Host or :authority: their host name, with the port if they
// have one port that is not the default; empty: there is no such name.
func (s ServiceServer) Authority(defaultPort int) string {
	name, ports := s.HostName(), []int{}
	for _, address := range s.Addresses {
		host, text, _ := net.SplitHostPort(address)
		if port, err := net.LookupPort("tcp", text); err == nil && host == name && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	if name == "" || len(ports) != 1 || ports[0] == defaultPort {
		return name
	}
	return net.JoinHostPort(name, strconv.Itoa(ports[0]))
}

func (s ServiceServer) hostNames() (names []string) {
	for _, address := range s.Addresses {
		host, _, err := net.SplitHostPort(address)
		if _, notIP := netip.ParseAddr(host); err == nil && notIP != nil && !slices.Contains(names, host) {
			names = append(names, host)
		}
	}
	return names
}

// Ready is how a backend shows that it serves.
type Ready struct {
	Mode string `yaml:"-" words:"grpc,tcp"` // or http
	HTTP string `yaml:"http" doc:"path whose response has a status below 400" required:"true"`
}

// Stop is how a backend is stopped.
type Stop struct {
	Signal string        `yaml:"signal" doc:"the signal (default: TERM; in pods, the STOPSIGNAL of the image)" enum:"TERM,INT,QUIT,HUP,USR1,USR2"`
	Grace  time.Duration `yaml:"grace" doc:"time to exit after the signal, until SIGKILL" max:"10m" default:"30s"`
}

// ServiceCall is one call of a service.
type ServiceCall struct {
	Name     string            `yaml:"-" key:"true"`
	Method   string            `yaml:"method" doc:"gRPC method, package.Service/Method" alternative:"true"`
	HTTP     string            `yaml:"http" doc:"method of an HTTP request" enum:"GET,HEAD,POST,PUT,PATCH,DELETE" alternative:"true"`
	Path     string            `yaml:"path" doc:"path and query of an HTTP request; it can be a template, also with a field of the row that the call takes from its data file, such as {{.id}}"`
	Data     Data              `yaml:"data" doc:"the request message, or the body of an HTTP request, which is JSON unless metadata has another content-type: then a text is the body as it is; texts in it can be templates such as {{randomInt 1 99}}; or @FILE: calls send its values (JSON, NDJSON) or rows (CSV) in turn"`
	Metadata Metadata          `yaml:"metadata" doc:"further metadata or headers of this call; values can be templates, also with fields of the data file, and a list has several values"`
	From     map[string]string `yaml:"from" doc:"values that the call takes from the answers before it in a flow: expressions (CEL) such as login.token, headers.login[\"x-token\"] or trailers.login[\"x-token\"], by the names that data, path and metadata use as {{.token}}; a dash in the name of a call is _"`
	Check    string            `yaml:"check" doc:"condition (CEL) that a response must meet, such as size(answer.orders) == 20 or status == 200; others count as errors of code CHECK, or HTTP_503 where that is the status (400 or more)"`
	Stream   *CallStream       `yaml:"stream" doc:"when a call of a streaming method ends"`
}

// CallStream ends streams that the server does not end.
type CallStream struct {
	Messages int           `yaml:"messages" doc:"the client ends the stream after this many responses (default: when the server ends it)" min:"1" max:"1000000"`
	Duration time.Duration `yaml:"duration" doc:"the client ends the stream after this time (default: when the server ends it)" max:"1h"`
	Empty    bool          `yaml:"empty" doc:"a stream without a response is right (default: it fails with DEADLINE_EXCEEDED if duration ends it, and with CHECK if the call has a check)"`
	Requests int           `yaml:"requests" doc:"requests that the client sends on a stream, if the method takes several (default: 1)" min:"1" max:"1000000"`
	PingPong bool          `yaml:"ping_pong" doc:"wait for the response to each request before the next"`
}

// ServiceTLS is how clients use TLS. An empty mapping trusts the certificates of the system.
type ServiceTLS struct {
	CACert     string `yaml:"cacert" doc:"file of trusted certificates (default: the system's)"`
	Cert       string `yaml:"cert" doc:"file with the client's certificate, for mTLS"`
	Key        string `yaml:"key" doc:"file with the key of that certificate"`
	ServerName string `yaml:"servername" doc:"name that the server's certificate must contain (default: that of authority, of server.addresses, or of the target)"`
	Insecure   bool   `yaml:"insecure" doc:"do not verify the server's certificate"`
}

// Identity is how rpclab tells which backend answered a call.
type Identity struct {
	Mode    string `yaml:"-" words:"peer"` // or the field that is set
	Trailer string `yaml:"trailer" doc:"gRPC trailer with the backend's name" alternative:"true"`
	Header  string `yaml:"header" doc:"response header with the backend's name" alternative:"true"`
	Field   string `yaml:"field" doc:"field of the response with the backend's name, such as server.name" alternative:"true"`
}

// Metadata has one or more values by key.
type Metadata map[string][]string

// Data is a message in JSON, as the YAML document has it, or the text @FILE.
type Data string

// File returns the file with the messages; empty: they are in the document.
func (d Data) File() string {
	var text string
	if json.Unmarshal([]byte(d), &text) != nil || !strings.HasPrefix(text, "@") {
		return ""
	}
	return text[1:]
}

func dataOf(file string) Data {
	text, _ := json.Marshal("@" + file) // a text is never invalid
	return Data(text)
}

// Package draft writes the first version of a service file, with a sample message for each method.
package draft

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"rpclab/internal/service/method"
)

// Service is what a draft is about.
type Service struct {
	Command   string // that writes the draft, for its first line
	Addresses []string
	Methods   []protoreflect.MethodDescriptor // at least one, unless OpenAPI has requests
	OpenAPI   OpenAPI                         // of an HTTP service
	// Proto, ImportPaths and Protoset define the methods; empty: server reflection.
	Proto, ImportPaths []string
	Protoset           string
	Metadata           [][2]string // of every call
	Authority          string
	TLS                *TLS // nil: the server has none
}

// TLS is how connections are encrypted, as in a service file.
type TLS struct {
	CACert     string `yaml:"cacert,omitempty"`
	Cert       string `yaml:"cert,omitempty"`
	Key        string `yaml:"key,omitempty"`
	ServerName string `yaml:"servername,omitempty"`
	Insecure   bool   `yaml:"insecure,omitempty"`
}

// ofGRPC are the services that every gRPC server may have.
var ofGRPC = []string{"grpc.reflection.", "grpc.health.", "grpc.channelz.", "grpc.admin."}

// Usable returns the methods of services, those that probably only read first. It leaves out the services
// that every gRPC server may have.
func Usable(services []protoreflect.ServiceDescriptor) (all []protoreflect.MethodDescriptor) {
	for _, s := range services {
		if slices.ContainsFunc(ofGRPC, func(prefix string) bool { return strings.HasPrefix(string(s.FullName()), prefix) }) {
			continue
		}
		for i := range s.Methods().Len() {
			all = append(all, s.Methods().Get(i))
		}
	}
	slices.SortStableFunc(all, func(a, b protoreflect.MethodDescriptor) int { return rank(a) - rank(b) })
	return all
}

// rank orders methods by whether an experiment can call them at once without harm.
func rank(m protoreflect.MethodDescriptor) int {
	reads := slices.ContainsFunc([]string{"Get", "List", "Read", "Find", "Search", "Query", "Range", "Say", "Echo", "Ping", "Hello"}, func(verb string) bool {
		return strings.HasPrefix(string(m.Name()), verb)
	})
	switch streams := m.IsStreamingClient() || m.IsStreamingServer(); {
	case reads && !streams:
		return 0
	case !streams:
		return 1
	}
	return 2
}

// Write returns the draft.
func (s Service) Write() ([]byte, error) {
	title := s.OpenAPI.Title
	if len(s.Methods) > 0 {
		title = string(s.Methods[0].Parent().Name())
	}
	named := cmp.Or(slug(title), "service")
	root := mapping()
	root.HeadComment = strings.Join([]string{
		"Written by: " + s.Command,
		"Use it with: rpclab run channels --service FILE",
	}, "\n")
	add(root, "service", text(strings.Trim(named[:min(len(named), maxName)], "-")))
	server := mapping()
	add(server, "addresses", flow(s.Addresses...))
	server.Content[0].FootComment = strings.Join([]string{
		"In place of addresses, rpclab can start the service itself. Then experiments can also kill,",
		"scale and roll it out. Each replica gets an address of its own:",
		`command: ["./` + named + `", "--listen", "{{.Address}}"]`,
		"replicas: 3",
	}, "\n")
	add(root, "server", server)
	calls, names := mapping(), map[string]bool{}
	for _, m := range s.Methods {
		add(calls, name(string(m.Name()), string(m.Parent().Name()), names), call(m))
	}
	for _, r := range s.OpenAPI.Requests {
		add(calls, name(r.ID, r.Method, names), r.call())
	}
	calls.Content[0].HeadComment = "The first is called, unless --call names another."
	add(root, "calls", calls)
	if len(s.Proto) > 0 {
		add(root, "proto", flow(s.Proto...))
	}
	if len(s.ImportPaths) > 0 {
		add(root, "import_paths", flow(s.ImportPaths...))
	}
	if s.Protoset != "" {
		add(root, "protoset", text(s.Protoset))
	}
	if len(s.Metadata) > 0 {
		add(root, "metadata", pairs(s.Metadata))
	}
	if s.Authority != "" {
		add(root, "authority", text(s.Authority))
	}
	if s.TLS != nil {
		add(root, "tls", node(s.TLS))
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write the service file: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

func call(m protoreflect.MethodDescriptor) *yaml.Node {
	out := mapping()
	add(out, "method", text(strings.TrimPrefix(method.Path(m), "/")))
	add(out, "data", sample(m.Input()))
	if m.IsStreamingServer() {
		stream := mapping()
		stream.Style = yaml.FlowStyle
		if m.IsStreamingClient() { // many servers answer each request once
			add(stream, "requests", scalar("!!int", "10"))
			add(stream, "ping_pong", scalar("!!bool", "true"))
		} else {
			add(stream, "messages", scalar("!!int", "10"))
		}
		add(out, "stream", stream)
		out.Content[len(out.Content)-1].LineComment = "rpclab ends a stream after so many responses, if the server does not"
		if m.IsStreamingClient() {
			out.Content[len(out.Content)-1].LineComment = "each request is sent after the response to the one before"
		}
	}
	return out
}

// name returns a name for a method of a service that no other call has: get-order.
func name(method, of string, used map[string]bool) string {
	base := cmp.Or(slug(method), "call")
	if used[base] {
		base = slug(of) + "-" + base
	}
	if len(base) > maxName-2 {
		base = base[:maxName-2]
	}
	unique := base
	for n := 2; used[unique]; n++ {
		unique = fmt.Sprintf("%s%d", base, n)
	}
	used[unique] = true
	return unique
}

// maxName is the longest name in an experiment.
const maxName = 40

// slug writes GetOrder as get-order.
func slug(camel string) string {
	var b strings.Builder
	letters := []rune(camel)
	for i, r := range letters {
		switch lower := unicode.ToLower(r); {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])):
			b.WriteString(" " + string(lower))
		default:
			b.WriteRune(lower)
		}
	}
	return strings.Join(strings.Fields(b.String()), "-")
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// pairs is a mapping of keys to one value each, or to a list of several.
func pairs(all [][2]string) *yaml.Node {
	var keys []string
	values := map[string][]string{} // by key in lower case: metadata and headers ignore the case
	for _, pair := range all {
		key := strings.ToLower(pair[0])
		if values[key] == nil {
			keys = append(keys, pair[0])
		}
		values[key] = append(values[key], pair[1])
	}
	out := mapping()
	for _, key := range keys {
		value := flow(values[strings.ToLower(key)]...)
		if len(value.Content) == 1 {
			value = value.Content[0]
		}
		add(out, key, value)
	}
	return out
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, text(key), value)
}

func flow(values ...string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range values {
		out.Content = append(out.Content, text(v))
	}
	return out
}

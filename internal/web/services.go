package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/suggest"
)

// OneLoad is the name under which the page offers a load on a service, without a comparison.
const OneLoad = "load"

// Limits of a load that a page starts.
const (
	maxRate         = 20_000 // calls/s
	maxLoadDuration = 10 * time.Minute
	draftTimeout    = 10 * time.Second
	maxOnPage       = 16 << 10 // bytes of a service file in a request
	maxFlow         = 16       // calls of a flow
)

// services lists the services that the page offers.
func (s *Server) services(*http.Request) (any, error) {
	type summary struct {
		Name  string   `json:"name"`
		Calls []string `json:"calls"`
	}
	all := []summary{}
	if s.Conduct != nil {
		for _, service := range s.Services {
			all = append(all, summary{service.Name, service.Calls})
		}
	}
	return struct {
		Services []summary `json:"services"`
		Address  bool      `json:"address"` // the page can call an address on this machine
	}{all, s.Conduct != nil && s.Draft != nil}, nil
}

// draft returns a service file of the methods at an address on this machine, or checks a file that the page sends.
func (s *Server) draft(r *http.Request) (any, error) {
	if s.Conduct == nil || s.Draft == nil {
		return nil, problem{http.StatusForbidden, "This page shows one run and cannot start others; use `rpclab serve`."}
	}
	var want struct {
		Address string `json:"address"`
		Text    string `json:"text"`
	}
	if err := readBody(r, &want); err != nil {
		return nil, err
	}
	if want.Text == "" {
		if err := onThisMachine(want.Address); err != nil {
			return nil, problem{http.StatusBadRequest, err.Error()}
		}
		ctx, cancel := context.WithTimeout(r.Context(), draftTimeout)
		defer cancel()
		text, err := s.Draft(ctx, want.Address)
		if err != nil {
			return nil, problem{http.StatusBadRequest, inBrowser(err.Error(), want.Address)}
		}
		want.Text = string(text)
	}
	read, err := readOnPage(want.Text)
	if err != nil {
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	return struct {
		Text  string   `json:"text"`
		Calls []string `json:"calls"`
	}{want.Text, callNames(read)}, nil
}

// inBrowser replaces remedies in the error of a draft that are flags of rpclab init, which the page has not.
func inBrowser(text, address string) string {
	with := func(flag string) string {
		return "run `rpclab init " + address + " " + flag + " > service.yaml`, and start this page with `rpclab serve --service service.yaml`"
	}
	const files = "describe the methods with --proto FILE or --protoset FILE"
	return strings.NewReplacer(
		"send the metadata that it requires with --metadata, or "+files, with("--metadata 'KEY: VALUE'"),
		files, with("--proto FILE"),
		"use --proto or --protoset", with("--proto FILE"),
		"it may require --tls", "if it requires TLS, "+with("--tls"),
	).Replace(text)
}

// NewService reads a service file that a page offers.
func NewService(d experiment.ServiceDocument) (Service, error) {
	read, err := experiment.ReadService(d, lab.Vocabulary())
	if err != nil {
		return Service{}, err
	}
	return Service{Name: read.Name, Document: d, Calls: callNames(read)}, nil
}

func callNames(f experiment.ServiceFile) (names []string) {
	for _, c := range f.Calls {
		names = append(names, c.Name)
	}
	return names
}

// onPage is the name in messages of a service file that a page sends.
const onPage = "service.yaml"

// readOnPage reads a service file that a page sends. It may neither start a program nor read a file, and
// only call addresses on this machine.
func readOnPage(text string) (read experiment.ServiceFile, err error) {
	if len(text) > maxOnPage {
		return read, fmt.Errorf("the service file has %d bytes; a page can send at most %d: start the server with --service FILE", len(text), maxOnPage)
	}
	var tree yaml.Node
	if yaml.Unmarshal([]byte(text), &tree) == nil && !templatesOnPage(&tree) { // a file that is not YAML has no templates
		return read, errors.New("the templates in a service file that a page sends are {{.Number}}, {{uuid}}, {{now}}, {{unixMilli}}, {{randomInt 1 10}} and {{randomString 8}}: for others, start the server with --service FILE")
	}
	if read, err = experiment.ReadService(experiment.ServiceDocument{File: onPage, Text: []byte(text)}, lab.Vocabulary()); err != nil {
		return read, err
	}
	if len(read.Server.Addresses) == 0 {
		return read, errors.New("a page can only call addresses, and start no program: start the server with --service FILE")
	}
	for _, address := range read.Server.Addresses {
		if err := onThisMachine(address); err != nil {
			return read, err
		}
	}
	files := len(read.Proto) > 0 || len(read.ImportPaths) > 0 || read.Protoset != "" ||
		read.TLS != nil && (read.TLS.CACert != "" || read.TLS.Cert != "" || read.TLS.Key != "") ||
		slices.ContainsFunc(read.Calls, func(c experiment.ServiceCall) bool { return c.Data.File() != "" })
	if files {
		return read, errors.New("a service file that a page sends cannot name files: start the server with --service FILE")
	}
	return read, nil
}

// templateOnPage are the templates in a service file that a page sends: others could compute without end.
var templateOnPage = regexp.MustCompile(`\{\{ *(\.(Number|Worker|Address|Host|Port|ID)|uuid|now|unixMilli|randomInt +-?\d+ +-?\d+|randomString +\d{1,4}) *\}\}`)

// templatesOnPage reports whether all texts of a document have only the templates that a page may send. Their escapes
// are decoded.
func templatesOnPage(n *yaml.Node) bool {
	if strings.Count(n.Value, "{{") != len(templateOnPage.FindAllString(n.Value, -1)) {
		return false
	}
	return !slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return !templatesOnPage(child) })
}

// onThisMachine returns an error for an address that is not a loopback address.
func onThisMachine(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address: use HOST:PORT, such as 127.0.0.1:50051", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not on this machine: a page calls other machines only as a service file says: start the server with --service FILE", address)
	}
	return nil
}

// service returns the service that a request names or contains; nil: rpclab's own servers.
func (s *Server) service(want startRequest) (*experiment.ServiceDocument, error) {
	switch {
	case want.ServiceText != "" && want.Service != "":
		return nil, errors.New("service and service_text exclude each other: send one of them")
	case want.ServiceText == "" && want.Service == "" && want.Call+want.Mix.String()+strings.Join(want.Flow, "") != "":
		return nil, errors.New("call, mix and flow name calls of a service: choose a service, or an address")
	case len(want.Flow) > maxFlow:
		return nil, fmt.Errorf("the flow has %d calls; a page can start at most %d: use `rpclab load --flow`", len(want.Flow), maxFlow)
	case want.ServiceText != "":
		_, err := readOnPage(want.ServiceText)
		return &experiment.ServiceDocument{File: onPage, Text: []byte(want.ServiceText)}, err
	case want.Service == "":
		return nil, nil
	}
	var names []string
	for _, service := range s.Services {
		if service.Name == want.Service {
			return &service.Document, nil
		}
		names = append(names, service.Name)
	}
	return nil, fmt.Errorf("this page offers no service %q%s; start the server with --service FILE", want.Service, suggest.DidYouMean(want.Service, names))
}

// loadOf returns the experiment of a load that a page starts.
func loadOf(want startRequest, document *experiment.ServiceDocument) (Experiment, error) {
	if document == nil {
		return Experiment{}, errors.New("a load needs a service: choose one, or an address")
	}
	duration := time.Duration(want.DurationS * float64(time.Second))
	if calls := want.Rate * float64(max(1, len(want.Flow))); calls > maxRate && len(want.Flow) > 0 {
		return Experiment{}, fmt.Errorf("flow: %g flows/s of %d calls are %g calls/s; a page can start at most %d calls/s: use a lower rate, or `rpclab load`", want.Rate, len(want.Flow), calls, maxRate)
	}
	if want.Rate <= 0 || want.Rate > maxRate || duration <= 0 || duration > maxLoadDuration {
		return Experiment{}, fmt.Errorf("rate and duration_s: use a rate up to %d calls/s and a duration up to %v; `rpclab load` makes larger loads", maxRate, maxLoadDuration)
	}
	service, err := experiment.ReadService(*document, lab.Vocabulary())
	if err != nil {
		return Experiment{}, err
	}
	text, err := experiment.OneLoad{
		Name: OneLoad, Service: service, Call: want.Call, Mix: want.Mix, Flow: want.Flow, Pace: fmt.Sprintf("open loop of %g calls/s for %v", want.Rate, duration),
		Load:   map[string]any{"open": map[string]any{"rate": want.Rate, "duration": duration.String()}},
		Caller: map[string]any{"kind": "wire", "warmup": 0, "timeout": experiment.OneLoadTimeout.String()}, Rounds: want.Rounds,
	}.Document()
	return Experiment{Name: OneLoad, File: OneLoad, Doc: text}, err
}

// loadCommand is the command line that makes the load of a request.
func loadCommand(want startRequest, file string, seed uint64) string {
	words := []string{"rpclab", "load", "--service", file}
	if want.Call != "" {
		words = append(words, "--call", want.Call)
	}
	if len(want.Mix) > 0 {
		words = append(words, "--mix", want.Mix.String())
	}
	if len(want.Flow) > 0 {
		words = append(words, "--flow", strings.Join(want.Flow, ","))
	}
	words = append(words, "--rate", fmt.Sprint(want.Rate), "--duration", fmt.Sprint(want.DurationS, "s"))
	if want.Rounds > 0 {
		words = append(words, "--rounds", fmt.Sprint(want.Rounds))
	}
	return experiment.CommandLine(append(words, "--seed", fmt.Sprint(seed))...)
}

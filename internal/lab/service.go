package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/service"
	"rpclab/internal/service/data"
	"rpclab/internal/service/method"
)

// findService returns the service of a plan that a config names; nil: rpclab's own servers.
func findService(services []experiment.Service, name string) *experiment.Service {
	if i := slices.IndexFunc(services, func(s experiment.Service) bool { return s.Name == name }); i >= 0 {
		return &services[i]
	}
	return nil
}

// deployService completes the specification of a trial's servers by those of a user's service.
func deployService(s experiment.Service, spec cluster.Spec) (cluster.Spec, error) {
	spec.Name, spec.Protocol, spec.Args = s.Name, "", nil
	ready := cluster.Ready{Kind: s.Server.Ready.Mode, Path: s.Server.Ready.HTTP}
	if ready.Kind == "" && onlyHTTP(s) {
		ready.Kind = cluster.ReadyTCP
	}
	if ready.TLS = s.TLS != nil; ready.TLS && s.TLS.Cert != "" && ready.Kind == "" {
		ready.Kind = cluster.ReadyTCP // checks have no client certificate
	}
	spec.Ready, spec.Port = ready, s.Server.Port
	if spec.Existing = s.Server.Service; spec.Existing != "" {
		return spec, nil
	}
	if spec.Addresses = s.Server.Addresses; len(spec.Addresses) > 0 {
		spec.Ready.Authority, spec.ReadyTimeout = authorityOf(s, ready.Kind == cluster.ReadyHTTP), s.Server.Timeout
		return spec, ready.Check()
	}
	program := cluster.Program{
		Command: s.Server.Command, Dir: s.Server.Dir, Image: s.Server.Image, PullSecret: s.Server.PullSecret, Template: s.Server.Deployment, Ready: ready, ReadyTimeout: s.Server.Timeout,
		Signal: s.Server.Stop.Signal, Grace: s.Server.Stop.Grace,
	}
	if program.Image != "" {
		program.Command = s.Server.Args
	}
	for _, name := range slices.Sorted(maps.Keys(s.Server.Env)) {
		program.Env = append(program.Env, name+"="+s.Server.Env[name])
	}
	var err error
	if program.Files, err = readFiles(s.Server.Files); err != nil {
		return spec, err
	}
	spec.Program = &program
	return spec, program.Check()
}

// maxFiles is the size of all files of a service in bytes, because one Secret contains them.
const maxFiles = 1 << 20

const largeFiles = "put large files into the image"

// readFiles reads the files that the pods of a service get, by their path there.
func readFiles(files map[string]string) (map[string][]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	read, size := map[string][]byte{}, 0
	for inside, file := range files {
		var err error
		if read[inside], err = data.ReadFile(file, maxFiles, largeFiles); err != nil {
			return nil, fmt.Errorf("server.files, %s: %w", inside, err)
		}
		if size += len(read[inside]); size > maxFiles {
			return nil, fmt.Errorf("server.files have more than %d bytes, the size of a Secret: %s", maxFiles, largeFiles)
		}
	}
	return read, nil
}

// versions returns the programs to which events roll out, by the names of their services.
func versions(services []experiment.Service, events []experiment.Event, old cluster.Spec) (map[string]cluster.Program, error) {
	all := map[string]cluster.Program{}
	for _, e := range events {
		s := findService(services, e.RollTo)
		if s == nil {
			continue // another action
		}
		spec, err := deployService(*s, old)
		if err != nil {
			return nil, s.ErrorAt("", "server", fmt.Errorf("service %s: %w", s.Name, err))
		}
		if spec.Port != old.Port {
			return nil, s.ErrorAt("", "server", fmt.Errorf("service %s: roll_to: server.port is %d, and that of the old version %d: a service has one port", s.Name, spec.Port, old.Port))
		}
		all[e.RollTo] = *spec.Program
	}
	return all, nil
}

func onlyHTTP(s experiment.Service) bool {
	return !slices.ContainsFunc(s.Calls, func(c experiment.ServiceCall) bool { return c.HTTP == "" })
}

// callCache is the calls of trials so far. Equal calls share their data and methods, which are read once.
type callCache map[string][]service.Spec

// calls returns the calls that a trial makes of a service.
func (c callCache) calls(s experiment.Service, w experiment.Workload, library library, timeout time.Duration) (all []service.Spec, err error) {
	key := fmt.Sprint(s.Name, w.Shares(), w.Flow != nil, library.name, timeout)
	if c[key] == nil {
		if c[key], err = serviceCalls(s, w, library, timeout); err != nil {
			return nil, err
		}
	}
	return slices.Clone(c[key]), nil
}

// useGRPCGo is the remedy for what only that caller of gRPC methods can do.
const useGRPCGo = "set caller.kind to grpc-go (in rpclab load: add --engine grpc-go)"

// instead is the remedy for what the caller wire cannot do with a call.
func instead(call *service.Spec) string {
	if call.HTTP != "" {
		return "set caller.kind to http"
	}
	return useGRPCGo
}

func serviceCalls(s experiment.Service, w experiment.Workload, library library, timeout time.Duration) (all []service.Spec, err error) {
	shares := w.Shares()
	for _, share := range shares {
		spec, streams, err := serviceCall(s, share.Call, timeout)
		if err == nil && streams && len(shares) > 1 && !slices.Contains(library.features, "mixed-streams") {
			err = s.ErrorAt(share.Call, "method", fmt.Errorf("the caller %s makes several calls of unary methods only, and call %s is of a streaming method: %s", library.name, share.Call, useGRPCGo))
		}
		if err == nil && spec.Identity.Field != "" && !slices.Contains(library.features, "identity-field") {
			err = s.ErrorAt("", "identity", fmt.Errorf("the caller %s does not read identity.field: name a header or a trailer, or %s", library.name, instead(spec)))
		}
		if err != nil {
			return nil, placed(s, err)
		}
		spec.Weight = share.Weight
		all = append(all, *spec)
	}
	if w.Flow == nil {
		return all, nil
	}
	readsFields, err := service.CheckFlow(all)
	if err == nil && readsFields && !slices.Contains(library.features, "headers") {
		err = fmt.Errorf("the caller %s does not read headers and trailers, which from of a call does: %s", library.name,
			map[bool]string{true: "set caller.kind to http (in rpclab load: remove --engine)", false: useGRPCGo}[all[0].HTTP != ""])
	}
	return all, placed(s, err)
}

// placed returns the error of a call with the position of the field in the file of its service.
func placed(s experiment.Service, err error) error {
	var of service.FieldError
	if !errors.As(err, &of) {
		return err
	}
	return s.ErrorAt(of.Call, of.Field, err)
}

// serviceCall returns one call of a service, and checks it as far as it can be checked before a server runs. streams: its
// files say that the method is a streaming method.
func serviceCall(s experiment.Service, name string, timeout time.Duration) (spec *service.Spec, streams bool, err error) {
	i := slices.IndexFunc(s.Calls, func(c experiment.ServiceCall) bool { return c.Name == name })
	if i < 0 {
		return nil, false, fmt.Errorf("the service %s has no call %q", s.Name, name)
	}
	c := s.Calls[i]
	spec = &service.Spec{
		Name: c.Name, Method: c.Method, HTTP: c.HTTP, Path: c.Path, Data: string(c.Data), From: c.From, Check: c.Check, Metadata: map[string][]string{}, Authority: authorityOf(s, c.HTTP != ""),
		Identity: service.Identity{Trailer: s.Identity.Trailer, Header: s.Identity.Header, Field: s.Identity.Field},
	}
	if spec.TLS, err = readTLS(s.TLS); err != nil {
		return nil, false, s.ErrorAt("", "tls", err)
	}
	if spec.TLS != nil && s.Authority == "" {
		spec.TLS.ServerName = cmp.Or(spec.TLS.ServerName, s.Server.HostName())
	}
	if spec.File = c.Data.File(); spec.File != "" {
		if spec.Data, err = readData(spec.File); err != nil {
			return nil, false, s.ErrorAt(name, "data", fmt.Errorf("data of call %s: %w", c.Name, err))
		}
	}
	spec.Stream.Timeout, spec.Stream.NeedsResponse = timeout, true
	if c.Stream != nil {
		spec.Stream.NeedsResponse = !c.Stream.Empty
		spec.Stream.Requests, spec.Stream.PingPong = c.Stream.Requests, c.Stream.PingPong
		spec.Stream.MaxResponses, spec.Stream.MaxDuration = c.Stream.Messages, c.Stream.Duration
	}
	for _, more := range []experiment.Metadata{s.Metadata, c.Metadata} { // those of the call replace those of the service
		for key, values := range more {
			spec.Metadata[strings.ToLower(key)] = values
		}
	}
	if c.HTTP != "" {
		_, err := service.OpenHTTP(*spec)
		return spec, false, err
	}
	files := map[bool]string{true: "protoset", false: "proto"}[s.Protoset != ""]
	source, err := methodFiles(s)
	if err != nil || source == nil {
		return spec, false, s.ErrorAt("", files, err)
	}
	if spec.Protos, err = method.Descriptors(source); err != nil {
		return nil, false, s.ErrorAt("", files, err)
	}
	call, err := service.Open(context.Background(), *spec, source)
	return spec, err == nil && call.Stream != nil, err
}

// authorityOf returns what calls send as :authority, or as Host of an HTTP request; empty: the target of the route.
func authorityOf(s experiment.Service, http bool) string {
	switch {
	case s.Authority != "":
		return s.Authority
	case http && s.TLS != nil:
		return s.Server.Authority(443)
	case http:
		return s.Server.Authority(80)
	case s.TLS != nil && s.TLS.ServerName != "": // grpc-go verifies the authority if there is one
		return ""
	}
	return s.Server.Authority(0)
}

// readTLS reads the files of a service's TLS settings.
func readTLS(t *experiment.ServiceTLS) (*service.TLS, error) {
	if t == nil {
		return nil, nil
	}
	read := &service.TLS{ServerName: t.ServerName, Insecure: t.Insecure}
	for name, file := range map[string]struct {
		path string
		into *[]byte
	}{"cacert": {t.CACert, &read.CACert}, "cert": {t.Cert, &read.Cert}, "key": {t.Key, &read.Key}} {
		if file.path == "" {
			continue
		}
		var err error
		if *file.into, err = data.ReadFile(file.path, maxFiles, "set a file in PEM"); err != nil {
			return nil, fmt.Errorf("tls.%s: %w", name, err)
		}
	}
	_, err := read.Config()
	return read, err
}

// maxDataFile is how much data a call can have, in bytes. Every caller stores it.
const maxDataFile = 16 << 20

// readData reads a file with the messages of a call.
func readData(file string) (string, error) {
	text, err := data.ReadFile(file, maxDataFile, "shorten it")
	switch {
	case err != nil:
		return "", err
	case len(bytes.TrimSpace(text)) == 0:
		return "", fmt.Errorf("%s is empty: write messages in it (JSON, NDJSON, or CSV with a header), or {} for an empty message", file)
	}
	return string(text), nil
}

// methodFiles returns the methods that the files of a service define; nil: it has no files.
func methodFiles(s experiment.Service) (method.Source, error) {
	var source method.Source
	var err error
	switch {
	case s.Protoset != "":
		source, err = method.FromSet(s.Protoset)
	case len(s.Proto) > 0:
		source, err = method.FromProto(context.Background(), s.Proto, s.ImportPaths)
	}
	return source, service.InFields(err)
}

// nameBackends replaces the addresses of backends in measurements by their identities in the sets of
// endpoints that were published. What answered from another address, such as that of a virtual IP, or without
// the identity that the service should have, is not known. A client of the user's may report addresses or names.
func nameBackends(shares []measure.Measurement, identity service.Identity, ownClient bool, endpoints []cluster.Snapshot) {
	names := map[string]string{}
	for _, set := range endpoints {
		for _, e := range set.Endpoints {
			names[e.Addr.String()] = e.ID
		}
	}
	for i := range shares {
		shares[i].RenameBackends(func(name string) string {
			if !identity.IsAddress() {
				return name
			}
			if at := strings.LastIndexByte(name, ':'); at > 0 && strings.Contains(name[:at], ":") && name[0] != '[' {
				name = net.JoinHostPort(name[:at], name[at+1:]) // HAProxy names IPv6 without brackets
			}
			if id, published := names[name]; published || !ownClient {
				return id
			}
			return name
		})
	}
}

// unknownBackends says why a trial has no counts by backend.
func unknownBackends(i service.Identity) string {
	switch {
	case i.Trailer != "":
		return "rpclab does not know which backends answered: no response has the trailer " + i.Trailer + " (identity in the service file)"
	case i.Header != "":
		return "rpclab does not know which backends answered: no response has the header " + i.Header + " (identity in the service file)"
	case i.Field != "":
		return "rpclab does not know which backends answered: the field " + i.Field + " is empty in every response (identity in the service file)"
	}
	return "rpclab does not know which backends answered: if the responses name them, set identity in the service file"
}

// namesEndpoints reports whether all names of backends are identities of endpoints.
func namesEndpoints(shares []measure.Measurement, endpoints []cluster.Snapshot) bool {
	known := map[string]bool{}
	for _, set := range endpoints {
		for _, e := range set.Endpoints {
			known[e.ID] = true
		}
	}
	for _, m := range shares {
		for name := range m.Backends {
			if !known[name] {
				return false
			}
		}
	}
	return true
}

// mostUnnamed is the share of responses that may come without a name of their backend.
const mostUnnamed = 0.01

// knowsBackends reports whether the backends of nearly all answered calls, or of the calls of each flow, are known.
func knowsBackends(shares []measure.Measurement, callsPerFlow int) bool {
	answered, named := uint64(0), uint64(0)
	for _, m := range shares {
		answered += m.Calls
		for _, n := range m.Errors {
			answered -= n
		}
		for _, n := range m.Backends {
			named += n
		}
	}
	return float64(named) >= (1-mostUnnamed)*float64(answered)*float64(callsPerFlow)
}

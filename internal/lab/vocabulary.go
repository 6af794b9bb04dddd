package lab

import (
	"fmt"
	"slices"

	"rpclab/internal/caller"
	"rpclab/internal/caller/external"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/own"
	"rpclab/internal/caller/tcp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/route"
	"rpclab/internal/suggest"
)

// library is a kind of caller. [experiment.Vocabulary] explains basic, protocols and features.
type library struct {
	name string
	caller.Caller
	basic     bool
	protocols []string
	features  []string
}

// libraries are in the order of the help.
var libraries = []library{
	{"grpc-go", grpcgo.Caller{}, false, []string{language.GRPC}, []string{"stream", "renew", "compress", "per-user", "calculate", "ahead", "service", "flow", "headers", "mixed-streams", "identity-field", "service_config", "keepalive"}},
	{"wire", wire.Caller{}, true, []string{language.GRPC, language.REST}, []string{"per-user", "calculate", "service", "flow"}},
	{"http", nethttp.Caller{}, false, []string{language.REST}, []string{"per-user", "service", "flow", "headers", "identity-field", "http2"}},
	{"tcp", tcp.Caller{}, false, []string{language.TCP}, nil},
	{"python-grpc-sync", python("grpc-sync", false), true, []string{language.GRPC}, []string{"stream", "pipeline", "compress", "service_config", "keepalive"}},
	{"python-grpc-aio", python("grpc-aio", false), true, []string{language.GRPC}, []string{"compress", "service_config", "keepalive"}},
	{"python-requests", python("requests", true), true, []string{language.REST}, nil},
	{"python-requests-session", python("requests-session", true), true, []string{language.REST}, nil},
	{"python-httpx", python("httpx", true), true, []string{language.REST}, nil},
	{"python-function", python("function", false), true, []string{experiment.NoProtocol}, nil},
}

// ownClient is a client of the user's (caller.command).
var ownClient = library{name: "command", Caller: own.Caller{}, protocols: []string{language.GRPC, language.REST, language.TCP}}

func python(kind string, rest bool) caller.Caller {
	return external.Caller{Language: "python", Kind: kind, REST: rest}
}

// callsBackends reports whether calls leave the caller's process.
func (l library) callsBackends() bool { return !slices.Contains(l.protocols, experiment.NoProtocol) }

// language returns the language of the caller's program.
func (l library) language() string {
	if c, ok := l.Caller.(external.Caller); ok {
		return c.Language
	}
	return language.Go
}

func lookupLibrary(name string) (library, error) {
	if name == ownClient.name {
		return ownClient, nil
	}
	for _, l := range libraries {
		if l.name == name {
			return l, nil
		}
	}
	return library{}, fmt.Errorf("no caller %q%s", name, suggest.DidYouMean(name, Vocabulary().Callers))
}

// Vocabulary returns every name that an experiment can use.
func Vocabulary() experiment.Vocabulary {
	v := experiment.Vocabulary{
		Routes: route.Names(), Languages: language.Names(),
		Models: map[string][]string{}, Protocols: map[string][]string{}, Features: map[string][]string{}, Policies: map[string][]string{},
		CheckServiceConfig: grpcgo.CheckServiceConfig,
	}
	for _, l := range language.All() {
		for _, m := range l.Models {
			v.Models[l.Name] = append(v.Models[l.Name], m.Name)
			v.Protocols[l.Name+"/"+m.Name] = []string{m.Protocol()}
			if m.HTTP2 {
				v.Features[l.Name+"/"+m.Name] = []string{"http2"}
			}
		}
	}
	for _, rt := range route.All() {
		name := rt.Name
		v.Policies[name] = rt.Policies
		if rt.OutlierDetection {
			v.OutlierRoutes = append(v.OutlierRoutes, name)
		}
		if rt.CarriesTCP {
			v.TCPRoutes = append(v.TCPRoutes, name)
		}
		if rt.CarriesTCP || rt.CarriesHTTP1 {
			v.RESTRoutes = append(v.RESTRoutes, name)
		}
		if rt.Binary.Name != "" || rt.Mesh != "" {
			v.ProxyRoutes = append(v.ProxyRoutes, name)
		}
		if rt.Mesh != "" {
			v.MeshRoutes = append(v.MeshRoutes, name)
		}
		if rt.GoOnly {
			v.GoOnlyRoutes = append(v.GoOnlyRoutes, name)
		}
		if rt.OwnRetries {
			v.OwnRetryRoutes = append(v.OwnRetryRoutes, name)
		}
		if rt.NeedsFullClient {
			v.FullClientRoutes = append(v.FullClientRoutes, name)
		}
	}
	for _, l := range libraries {
		v.Callers = append(v.Callers, l.name)
		v.Protocols[l.name], v.Features[l.name] = l.protocols, l.features
		if l.basic {
			v.BasicCallers = append(v.BasicCallers, l.name)
		}
		if l.language() != language.Go {
			v.OtherLanguageCallers = append(v.OtherLanguageCallers, l.name)
		}
	}
	return v
}

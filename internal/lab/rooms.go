// Package lab is the conductor: it runs a plan trial by trial and makes of what was
// measured a result. It alone knows all the rooms.
package lab

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/caller/foreign"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/overhttp"
	"rpclab/internal/caller/overtcp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/route"
)

// callers are all callers by name, in the order in which help shows them.
var callers = []struct {
	name   string
	caller caller.Caller
	plain  bool // as [experiment.Vocabulary] has it, and so speaks and can
	speaks []string
	can    []string
}{
	{"grpc-go", grpcgo.Caller{}, false, []string{language.GRPC}, []string{"stream", "renew", "compress", "per-user", "calculate", "ahead"}},
	{"wire", wire.Caller{}, true, []string{language.GRPC, language.REST}, []string{"per-user", "calculate"}},
	{"http", overhttp.Caller{}, false, []string{language.REST}, []string{"per-user"}},
	{"tcp", overtcp.Caller{}, false, []string{language.TCP}, nil},
	{"python-grpc-sync", python("grpc-sync", false), true, []string{language.GRPC}, []string{"stream", "pipeline", "compress"}},
	{"python-grpc-aio", python("grpc-aio", false), true, []string{language.GRPC}, []string{"compress"}},
	{"python-requests", python("requests", true), true, []string{language.REST}, nil},
	{"python-requests-session", python("requests-session", true), true, []string{language.REST}, nil},
	{"python-httpx", python("httpx", true), true, []string{language.REST}, nil},
	{"python-function", python("function", false), true, []string{"nothing"}, nil},
}

func python(kind string, rest bool) caller.Caller {
	return foreign.Caller{Language: "python", Kind: kind, REST: rest}
}

// Vocabulary is every name that an experiment can use.
func Vocabulary() experiment.Vocabulary {
	v := experiment.Vocabulary{Routes: route.Names(), Languages: language.Names(), Models: map[string][]string{}, Speaks: map[string][]string{}, Can: map[string][]string{}, Policies: map[string][]string{}}
	for _, l := range language.All() {
		for _, m := range l.Models {
			v.Models[l.Name] = append(v.Models[l.Name], m.Name)
			v.Speaks[l.Name+"/"+m.Name] = []string{m.Speaks()}
		}
	}
	for _, name := range v.Routes {
		way, _ := route.Lookup(name) // a name of its own list
		v.Policies[name] = way.Policies
		if way.Outliers {
			v.Outliers = append(v.Outliers, name)
		}
		if way.Bytes {
			v.Bytes = append(v.Bytes, name)
		}
		if way.Tool != "" || way.Mesh != "" {
			v.Proxied = append(v.Proxied, name)
		}
		if way.Own {
			v.Own = append(v.Own, name)
		}
		if way.Whole {
			v.Whole = append(v.Whole, name)
		}
	}
	for _, c := range callers {
		v.Callers = append(v.Callers, c.name)
		v.Speaks[c.name], v.Can[c.name] = c.speaks, c.can
		if c.plain {
			v.Plain = append(v.Plain, c.name)
		}
	}
	return v
}

func lookupCaller(name string) (caller.Caller, error) {
	for _, c := range callers {
		if c.name == name {
			return c.caller, nil
		}
	}
	return nil, fmt.Errorf("no caller %q; there are %s", name, strings.Join(Vocabulary().Callers, ", "))
}

// seed mixes a trial's seed with a purpose, so that two uses share no draws.
func seed(of uint64, purpose string) uint64 {
	for _, b := range slices.All([]byte(purpose)) {
		of = (of ^ uint64(b)) * 0x100000001b3 // FNV-1a
	}
	return of
}

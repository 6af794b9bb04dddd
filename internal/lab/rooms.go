// Package lab is the conductor: it runs a plan trial by trial and makes of what was
// measured a result. It alone knows all the rooms.
package lab

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/caller"
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
	plain  bool // as [experiment.Vocabulary] has it
	speaks string
}{
	{"grpc-go", grpcgo.Caller{}, false, language.GRPC},
	{"wire", wire.Caller{}, true, language.GRPC},
	{"http", overhttp.Caller{}, false, language.REST},
	{"tcp", overtcp.Caller{}, false, language.TCP},
}

// Vocabulary is every name that an experiment can use.
func Vocabulary() experiment.Vocabulary {
	v := experiment.Vocabulary{Routes: route.Names(), Languages: language.Names(), Models: map[string][]string{}, Speaks: map[string]string{}, Policies: map[string][]string{}}
	for _, l := range language.All() {
		for _, m := range l.Models {
			v.Models[l.Name] = append(v.Models[l.Name], m.Name)
			v.Speaks[l.Name+"/"+m.Name] = m.Speaks()
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
		if way.Whole {
			v.Whole = append(v.Whole, name)
		}
	}
	for _, c := range callers {
		v.Callers = append(v.Callers, c.name)
		v.Speaks[c.name] = c.speaks
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

package wire

import (
	"rpclab/internal/caller"
	"rpclab/internal/service"
	engine "rpclab/internal/wire"
)

// serviceCalls returns the engine's call of a service, which is a mix or a flow if there are several, and what to do
// before each load.
func serviceCalls(job caller.Job, target caller.Target) (call engine.Call, startLoad func(continues bool), err error) {
	open := openCalls
	if job.Calls[0].HTTP != "" {
		open = openRequests
	}
	calls, flow, err := open(job, target)
	if err != nil {
		return call, nil, err
	}
	mix := service.NewMix(job.Calls)
	startLoad = func(continues bool) {
		if flow != nil {
			flow.clear()
		}
		if len(calls) > 1 && flow == nil && !mix.StartLoad(continues) {
			return
		}
		for _, one := range calls {
			one.startLoad()
		}
	}
	if len(calls) == 1 {
		return calls[0].Call, startLoad, nil
	}
	kindOf := mix.Of
	if flow != nil {
		kindOf = flow.kindOf
	}
	call = join(calls, kindOf)
	call.Mix = &engine.Mix{}
	if flow == nil {
		call.Mix.KindOf = func(n uint64) int { kind, _ := mix.Of(n); return kind }
	}
	for i, one := range calls {
		kind := engine.Kind{Name: job.Calls[i].Name, Method: one.Method, Metadata: one.Metadata}
		if one.HTTP != nil {
			kind.Method, kind.Path = one.HTTP.Method, one.HTTP.Path
		}
		call.Mix.Kinds = append(call.Mix.Kinds, kind)
	}
	return call, startLoad, nil
}

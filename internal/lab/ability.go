package lab

import (
	"errors"
	"fmt"
	"runtime"

	"rpclab/internal/experiment"
	"rpclab/internal/route"
)

// CheckCluster says, before a run, of everything in the plan that a cluster of this kind
// cannot do which it is and where it can be done.
func CheckCluster(plan experiment.Plan, kind string) error {
	var errs []error
	said := map[string]bool{}
	for _, t := range plan.Trials {
		way, err := route.Lookup(t.Config.Route)
		if err != nil {
			return err
		}
		all := beyond(t, kind)
		if way.Only != "" && way.Only != kind {
			all = append(all, fmt.Sprintf("arm %s: the route %s is there on %s alone: run it with --on %s, or leave the arm out", t.Arm, way.Name, way.Only, way.Only))
		}
		for _, what := range all {
			if !said[what] {
				said[what] = true
				errs = append(errs, errors.New(what))
			}
		}
	}
	return errors.Join(errs...)
}

// beyond is what of a trial the cluster cannot do.
func beyond(t experiment.Trial, kind string) (all []string) {
	local, server := kind == "local", t.Config.Server
	add := func(not bool, where, format string, args ...any) {
		if not {
			all = append(all, fmt.Sprintf(format, args...)+": only "+where+" can do that; run it with --on "+where+", or leave it out")
		}
	}
	unbounded := local && runtime.GOOS != "linux" // has no means for it
	add(unbounded && server.CPUs > 0, "kubernetes", "arm %s: server.cpus limits processors", t.Arm)
	add(unbounded && server.Memory > 0, "kubernetes", "arm %s: server.memory limits memory", t.Arm)
	add(!local && server.Zones > 1, "local", "arm %s: server.zones deals backends out to zones", t.Arm)
	for _, e := range t.Events {
		add(local && (e.Drain > 0 || e.Cordon > 0), "kubernetes", "event %q is done to nodes", e)
		add(!local && e.Cut != nil, "local", "event %q is done to this machine's network", e)
		add(!local && e.DNS != nil, "local", "event %q is done to a name server of our own", e)
	}
	return all
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"rpclab/internal/caller"
	"rpclab/internal/gateway"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/route"
	"rpclab/internal/tool"
)

// This file finds out before a run whether it can complete.

// CheckCluster names everything in the plan that a cluster of this kind cannot do, and the
// kind that can.
func (p Plan) CheckCluster(kind string) error {
	var errs []error
	reported := map[string]bool{}
	for _, t := range p.trials {
		for _, what := range unsupported(t, kind) {
			if !reported[what] {
				reported[what] = true
				errs = append(errs, errors.New(what))
			}
		}
	}
	return errors.Join(errs...)
}

// unsupported returns everything in a trial that a cluster of this kind cannot do.
func unsupported(t trial, kind string) (all []string) {
	local, server := kind == "local", t.Config.Server
	add := func(not bool, where, format string, args ...any) {
		if not {
			all = append(all, fmt.Sprintf(format, args...)+": only "+where+" can do that; run it with --on "+where+", or leave it out")
		}
	}
	cannotLimit := local && runtime.GOOS != "linux"
	add(cannotLimit && server.CPUs > 0, "kubernetes", "arm %s: server.cpus limits processors", t.Arm)
	add(cannotLimit && server.Memory > 0, "kubernetes", "arm %s: server.memory limits memory", t.Arm)
	add(!local && server.Zones > 1, "local", "arm %s: server.zones assigns backends to zones", t.Arm)
	program, of := t.server.Program, "service "+t.server.Name
	add(local && (t.server.Existing != "" || program != nil && program.InPods()), "kubernetes", "%s: its server runs in pods", of)
	add(!local && program != nil && !program.InPods(), "local", "%s: server.command starts a program of this machine", of)
	add(!local && t.server.Addresses != nil, "local", "%s: server.addresses are reached from this machine", of)
	add(!local && t.job.Command != nil, "local", "arm %s: caller.command is a program of this machine", t.Arm)
	for _, e := range t.Events {
		add(local && (e.Drain > 0 || e.Cordon > 0), "kubernetes", "event %q affects nodes", e)
		add(!local && e.Cut != nil && program == nil && server.Language != language.Go, "local", "event %q cuts connections of servers in another language than Go", e)
		add(!local && e.DNS != nil, "local", "event %q affects rpclab's own name server", e)
	}
	if g := t.Config.Gateway; local && g != nil && g.Language != language.Go && t.route.Name == route.ClusterIP.Name && t.channel == gateway.OwnConnection {
		all = append(all, fmt.Sprintf("arm %s: on this machine, all connections of a gateway in %s over the route %s reach the same backend, so channel: own-connection has no effect: use route: forwarder, or run it with --on kubernetes",
			t.Arm, g.Language, t.route.Name))
	}
	if t.library.language() != language.Go && local && t.Config.Gateway == nil && t.route.Name == route.ClusterIP.Name {
		all = append(all, fmt.Sprintf("arm %s: on this machine, only callers in Go support the route %s: use route: forwarder, or run it with --on kubernetes", t.Arm, t.route.Name))
	}
	if only := t.route.OnlyOn; only != "" && only != kind {
		all = append(all, fmt.Sprintf("arm %s: the route %s exists on %s only: run it with --on %s, or leave the arm out", t.Arm, t.route.Name, only, only))
	}
	return all
}

// toolsOf returns the programs that routes of trials start, in the order of the trials.
func toolsOf(trials []trial) (all []tool.Tool) {
	for _, t := range trials {
		if t.route.Binary.Name != "" && !slices.Contains(tool.Names(all), t.route.Binary.Name) {
			all = append(all, t.route.Binary)
		}
	}
	return all
}

// checkTools finds the programs of routes. It returns why this platform has none, by name: their arms do not run. It
// returns an error for every other missing program, with the arms that need it and how to install it.
func checkTools(trials []trial, find func(tool.Tool) (string, error)) (unavailable map[string]string, err error) {
	arms := map[string][]string{} // by tool
	for _, t := range trials {
		if name := t.route.Binary.Name; !slices.Contains(arms[name], t.Arm) {
			arms[name] = append(arms[name], t.Arm)
		}
	}
	var errs []error
	unavailable = map[string]string{}
	for _, t := range toolsOf(trials) {
		switch _, err := find(t); {
		case errors.Is(err, tool.ErrUnavailable):
			unavailable[t.Name] = err.Error()
		case err != nil:
			errs = append(errs, fmt.Errorf("for %s: %w", strings.Join(arms[t.Name], ", "), err))
		}
	}
	return unavailable, errors.Join(errs...)
}

// checkCommands returns an error for every client of the user's that is not there.
func checkCommands(trials []trial) error {
	var errs []error
	found := map[string]bool{}
	for _, t := range trials {
		if t.job.Command == nil || found[t.Arm] {
			continue
		}
		found[t.Arm] = true
		if err := process.CheckProgram("caller", t.job.Command.Args[0], t.job.Command.Dir, t.job.Command.Env); err != nil {
			errs = append(errs, fmt.Errorf("arm %s: %w", t.Arm, err))
		}
	}
	return errors.Join(errs...)
}

// toolVersions returns the versions of the programs that routes of the plan need, by name.
func toolVersions(ctx context.Context, trials []trial) (map[string]string, error) {
	all := map[string]string{}
	for _, t := range toolsOf(trials) {
		if err := addToolVersion(ctx, t, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addToolVersion adds the version of a route's program, if this machine has the program.
func addToolVersion(ctx context.Context, t tool.Tool, all map[string]string) error {
	path, err := t.Find()
	if errors.Is(err, tool.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	if all[t.Name], err = t.Version(ctx, path); err != nil {
		return fmt.Errorf("read the version of %s: %w", t.Name, err)
	}
	return nil
}

// ErrTooFewFiles is the error of a plan that needs more open files than the system allows.
var ErrTooFewFiles = errors.New("too few open files")

const (
	// spareFiles is the number of open files besides the connections of calls: standard streams, the
	// runtime, listeners, watches.
	spareFiles = 64
	// filesPerChild is the number of files that rpclab has open for each process that it starts: three
	// pipes, the process itself, and a connection.
	filesPerChild = 5
)

// checkFiles returns an error if a trial needs more open files in one process than the system or a
// proxy's configuration allows. Without the check, calls would fail.
func checkFiles(trials []trial, limit uint64) error {
	for _, t := range trials {
		need, why := filesNeeded(t)
		if limit > 0 && uint64(need) > limit {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; the hard limit here is %d.\n"+
				"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or make the load smaller with --set",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, limit)
		}
		if most := t.route.MaxConnections; most > 0 && need > most {
			return fmt.Errorf("%w: arm %s (%s) needs %d in one process, %s; it is configured for %d.\n"+
				"Make the load smaller with --set, such as --set load.open.max_in_flight=1000",
				ErrTooFewFiles, t.Arm, t.Config.Load, need, why, most)
		}
		if children := childrenWith(t, trials); limit > 0 && uint64(children*filesPerChild+spareFiles) > limit {
			remedy := "--set server.replicas=3"
			if t.armNumber > 0 {
				remedy = "--arms, or --set design=isolated, with which one arm is up at a time"
			}
			return fmt.Errorf("%w: arm %s needs %d in rpclab itself, for up to %d backends, callers and proxies; the hard limit here is %d.\n"+
				"Raise it (ulimit -Hn, or LimitNOFILE= of a service), or start fewer with %s",
				ErrTooFewFiles, t.Arm, children*filesPerChild+spareFiles, children, limit, remedy)
		}
	}
	return nil
}

// childrenWith returns the largest number of processes that run at a time during a trial, including those of
// arms that are up at the same time.
func childrenWith(t trial, trials []trial) (all int) {
	if t.armNumber == 0 || t.Round > 1 { // every round has the same arms
		return childrenOf(t)
	}
	for _, other := range trials {
		if other.Round == t.Round && other.Group == t.Group && result.Cell(other.Cell).Key() == result.Cell(t.Cell).Key() {
			all += childrenOf(other)
		}
	}
	return all
}

// childrenOf returns the largest number of processes of a trial that run at a time: backends, callers with a
// sidecar each, and a gateway, proxy and control plane. Events start backends while others still stop.
func childrenOf(t trial) int {
	const shared = 3
	backends := startedBackends(t)
	if len(t.Events) > 0 {
		backends *= 2
	}
	if t.server.FaultProxy {
		backends *= 2
	}
	return backends + 2*t.Config.CallerCount() + shared
}

// backendsOf returns the largest number of ready backends of a trial.
func backendsOf(t trial) int {
	most := t.Config.Server.Replicas
	for _, e := range t.Events {
		most = max(most, e.Scale)
	}
	return most
}

// startedBackends returns how many of them are processes that rpclab starts.
func startedBackends(t trial) int {
	if len(t.server.Addresses) > 0 || t.server.Existing != "" {
		return 0
	}
	return backendsOf(t)
}

// filesNeeded returns the largest number of files that one process of a trial has open at a time,
// and why. A single backend may receive every channel and every call. Several callers count as one
// caller with the channels of all.
func filesNeeded(t trial) (need int, why string) {
	c := t.Config
	d := route.Demand{
		Channels: c.CallerCount(), Calls: maxInFlight(c.Load), Backends: backendsOf(t), Workers: t.settings.Proxy.Workers,
		CallPerConnection: t.server.Protocol == language.TCP || t.settings.HTTP1 && !t.job.HTTP2,
	}
	requests := 0
	switch {
	case c.Gateway != nil: // it makes the calls of a request one after another
		requests = d.Calls
		d.Calls = min(d.Calls, gateway.MaxRequests)
		if t.channel == gateway.PerRequest || t.channel == gateway.OwnConnection {
			d.Channels = d.Calls
		}
	case c.Caller.Channel.Mode == caller.PerCall:
		d.Channels = max(d.Calls, c.CallerCount()*c.Caller.Warmup)
	case c.Caller.Channel.Mode == caller.PerUser:
		d.Channels = d.Calls
	case c.Caller.Channel.Mode == caller.Pool:
		d.Channels *= c.Caller.Channel.Pool
	}
	need, why = t.route.OpenFilesFor(d)
	if requests > 0 {
		why = fmt.Sprintf("for %d requests to the gateway at once, and %s", requests, why)
	}
	return need + requests + spareFiles, why
}

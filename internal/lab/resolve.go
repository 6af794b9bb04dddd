package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/gateway"
	"rpclab/internal/language"
	"rpclab/internal/load"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/security"
	"rpclab/internal/service"
	"rpclab/internal/workload"
)

// trial is a trial of the plan in which the names of route, language, model and caller are looked
// up.
type trial struct {
	experiment.Trial
	route    route.Route
	policy   string // of the route: the arm's or the route's default; empty: the route has none, or the user's client chooses one
	channel  string // how calls share channels; those of the gateway if a gateway makes the calls
	library  library
	settings settings.Settings
	server   cluster.Spec // without the command and the keys
	// language is the language of the servers. workers is how many calls a server handles at a
	// time; 0: no limit.
	language language.Language
	workers  int
	programs []language.Language // of servers, gateway and callers, other than Go
	security security.Policy     // that servers require of their clients
	job      caller.Job
	// proxyTLS is how the proxy of the route encrypts connections to backends, while callers call it in clear text;
	// nil: the calls pass as the callers make them.
	proxyTLS *service.TLS
	user     experiment.Service         // the user's service; zero: rpclab's own servers
	versions map[string]cluster.Program // of a user's service, by the names that events have
	// armNumber numbers the arms that are up at the same time, from 1; 0: the trial is alone.
	armNumber int
	load      pace.Spec     // of a capacity search: its warm-up
	target    *target       // nil: rpclab deploys the service
	timeout   time.Duration // of a load
	keeps     bool          // what was measured before an interrupt: a load with a service file
}

// target is what a load of servers that run already calls.
type target struct {
	*load.Load
	selfTest func(context.Context, load.Probe) (*load.SelfTestResult, error)
}

// processName names processes of a trial, which another arm may also have at the same time.
func (t trial) processName(name string) string {
	if t.armNumber == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, t.armNumber)
}

// armKey returns the key of the arm and cell of the trial.
func (t trial) armKey() result.ArmKey {
	return result.ArmKey{Name: t.Arm, Cell: result.Cell(t.Cell).Key()}
}

// Plan is the plan of an experiment in which every name is resolved.
type Plan struct {
	experiment.Plan
	trials []trial
	target *target // nil: rpclab deploys the services
}

// AtTarget reports whether the plan is that of a load of servers that run already.
func (p Plan) AtTarget() bool { return p.target != nil }

// Resolve looks up the names in every trial of a plan.
func Resolve(plan experiment.Plan) (Plan, error) {
	resolved := Plan{Plan: plan, trials: make([]trial, len(plan.Trials))}
	r := resolver{services: plan.Services, dir: plan.Dir, calls: callCache{}}
	for i, t := range plan.Trials {
		var err error
		if resolved.trials[i], err = r.trial(t); err != nil {
			return Plan{}, experiment.InDocument(fmt.Errorf("arm %s: %w", t.Arm, err))
		}
		resolved.trials[i].keeps = plan.Name == load.Experiment && t.Config.Load.Search == nil
		if plan.Design != "" && plan.Design != experiment.Isolated {
			resolved.trials[i].armNumber = 1 + slices.IndexFunc(plan.Arms, func(a experiment.Arm) bool { return a.Name == t.Arm })
		}
	}
	return resolved, nil
}

// resolver resolves the trials of a plan.
type resolver struct {
	services []experiment.Service
	dir      string // of the experiment
	calls    callCache
}

func (r resolver) trial(planned experiment.Trial) (t trial, err error) {
	c := planned.Config
	t = trial{Trial: planned, settings: routeSettings(c), timeout: loadTimeout(c), load: paceSpec(c.Load, planned.Seed)}
	if t.route, err = route.Lookup(c.Route); err != nil {
		return t, err
	}
	if t.policy = c.Policy; t.policy == "" && len(t.route.Policies) > 0 {
		t.policy = t.route.Policies[0]
	}
	if own := t.settings.ClientPolicy(); own != "" && t.route.PickedBy == route.PickedByClient {
		t.policy = own
	}
	if c.Caller.Command != nil {
		if t.route.PickedBy == route.PickedByClient && !t.route.NeedsFullClient { // it may ignore the service config
			t.policy = ""
		}
		t.library = ownClient
	} else if t.library, err = lookupLibrary(c.Caller.Kind); err != nil {
		return t, err
	}
	if t.language, err = language.Lookup(c.Server.Language); err != nil {
		return t, err
	}
	model, err := t.language.Model(c.Server.Model)
	if err != nil {
		return t, err
	}
	if t.programs, err = otherLanguages(t); err != nil {
		return t, err
	}
	t.workers = cmp.Or(requestedWorkers(c), model.Threads)
	if c.Workload.Calculate != nil {
		t.security = security.Policy{Transport: c.Server.Security, Tokens: c.Caller.JWT != "" && c.Caller.JWT != "none", Signing: c.Caller.Signing}
	}
	t.channel = c.Caller.Channel.String()
	if c.Gateway != nil {
		t.channel = cmp.Or(c.Gateway.Channel, gateway.DefaultChannel(c.Gateway.Model))
	}
	t.server = serverSpec(t, model)
	t.job = callerJob(c, model)
	t.settings.HTTP1 = t.job.REST
	if c.Caller.Command != nil {
		t.job.Command = ownCommand(c, r.dir)
		t.channel = "own"
	}
	if s := findService(r.services, c.Service); s != nil {
		if err := r.addService(&t, *s); err != nil {
			return t, fmt.Errorf("service %s: %w", s.Name, err)
		}
		if t.versions, err = versions(r.services, t.Events, t.server); err != nil {
			return t, err
		}
	}
	return t, nil
}

// addService completes a trial by a user's service.
func (r resolver) addService(t *trial, s experiment.Service) (err error) {
	c := t.Config
	t.user, t.settings.ReportUpstream = s, true
	t.settings.HTTP1 = experiment.ServiceFile(s).FirstCall(c.Workload).HTTP != ""
	if t.server, err = deployService(s, t.server); err != nil {
		return s.ErrorAt("", "server", err)
	}
	t.server.FaultProxy = t.server.Program != nil && slices.ContainsFunc(t.Events, func(e experiment.Event) bool { return e.NeedsFaultProxy(s.InPods()) })
	if t.job.Command != nil {
		return nil // the client knows its service
	}
	if t.job.Calls, err = r.calls.calls(s, c.Workload, t.library, t.job.Timeout); err != nil {
		return err
	}
	t.job.Flow = c.Workload.Flow != nil
	if err := t.route.CheckAuthority(t.job.Calls[0]); err != nil { // all calls of a service have the same
		return err
	}
	if tls := t.endTLS().proxyTLS; tls != nil {
		return t.route.CheckTLS(*tls)
	}
	return nil
}

// endTLS moves the TLS of a service to the proxy of the route, as where a sidecar or a load balancer encrypts connections
// to backends: callers call the proxy in clear text. On a route without such a proxy the trial stays as it is.
func (t trial) endTLS() trial {
	if t.route.Binary.Name == "" || len(t.job.Calls) == 0 || t.job.Calls[0].TLS == nil {
		return t
	}
	own := *t.job.Calls[0].TLS // all calls of a service have the same
	own.ServerName = t.job.Calls[0].VerifiedName()
	t.proxyTLS = &own
	t.job.Calls = slices.Clone(t.job.Calls)
	for i := range t.job.Calls {
		c := &t.job.Calls[i]
		if c.TLS = nil; c.HTTP == "" { // with TLS, the name is the authority of gRPC calls
			c.Authority = cmp.Or(c.Authority, own.ServerName)
		}
	}
	return t
}

// otherLanguages returns the languages of a trial's programs other than Go.
func otherLanguages(t trial) (all []language.Language, err error) {
	names := []string{t.language.Name, t.library.language()}
	if t.Config.Gateway != nil {
		names = append(names, t.Config.Gateway.Language)
	}
	for _, name := range names {
		if name == language.Go || slices.ContainsFunc(all, func(l language.Language) bool { return l.Name == name }) {
			continue
		}
		l, err := language.Lookup(name)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// requestedWorkers returns how many calls a server handles at a time, as the experiment says; 0: not set.
func requestedWorkers(c experiment.Config) int {
	if g := c.Workload.Greet; g != nil {
		return cmp.Or(c.Server.Workers, g.Workers) // older documents set it there
	}
	return c.Server.Workers
}

func serverSpec(t trial, model language.Model) cluster.Spec {
	server := t.Config.Server
	spec := cluster.Spec{
		Name:       "greeter",
		Protocol:   model.Protocol(),
		Args:       serverArgs(t.Config, t.policy, t.security),
		Replicas:   server.Replicas,
		Drain:      server.Drain,
		Zones:      server.Zones,
		CPUs:       server.CPUs,
		Memory:     uint64(server.Memory),
		RuntimeEnv: t.language.LimitEnv(server.CPUs, uint64(server.Memory)),
		Env:        language.JVMEnv(uint64(server.Heap), uint64(server.Direct)),
		Mesh:       t.route.Mesh,
		NodePort:   t.route.NodePort,
	}
	spec.Cut = slices.ContainsFunc(t.Events, func(e experiment.Event) bool { return e.Cut != nil })
	if server.NextAPI != "" {
		next := t.Config
		next.Server.API = server.NextAPI
		spec.NextArgs = serverArgs(next, t.policy, t.security)
	}
	return spec
}

// serverArgs returns the arguments of the server program. It omits defaults, since not every
// language supports every argument. policy is that of the route.
func serverArgs(c experiment.Config, policy string, required security.Policy) []string {
	args := workloadSpec(c).ServerArgs()
	if c.Server.Model != "" {
		args = append(args, "--model", c.Server.Model)
	}
	if workers := requestedWorkers(c); workers > 0 {
		args = append(args, "--workers", strconv.Itoa(workers))
	}
	if c.Server.MaxAge > 0 {
		args = append(args, "--max-age", workload.DurationArg(c.Server.MaxAge), "--age-grace", workload.DurationArg(c.Server.AgeGrace))
	}
	if c.Server.API != "" {
		args = append(args, "--api", c.Server.API)
	}
	if required.Required() {
		args = append(args, "--secured")
	}
	if policy == settings.WeightedRoundRobin {
		args = append(args, "--report-load") // it uses CPU time, and no other policy needs it
	}
	return args
}

func workloadSpec(c experiment.Config) workload.Spec {
	var w workload.Spec
	if g := c.Workload.Greet; g != nil {
		w.Greet = &workload.Greet{Delay: g.Delay}
	}
	if f := c.Workload.Fibonacci; f != nil {
		w.Fibonacci = &workload.Fibonacci{From: f.From, To: f.To}
	}
	if c.Workload.Increment {
		w.Increment = &workload.Increment{}
	}
	if c.Workload.Increase {
		w.Increase = &workload.Increase{}
	}
	if o := c.Workload.Orders; o != nil {
		w.Orders = &workload.Orders{Delay: o.Delay, Spread: o.Spread, Articles: o.Articles}
	}
	if k := c.Workload.Calculate; k != nil {
		w.Calculate = &workload.Calculate{X: int64(k.X), Y: int64(k.Y), Operation: k.Operation}
	}
	return w
}

// routeSettings returns the settings of the trial's route.
func routeSettings(c experiment.Config) settings.Settings {
	s := settings.Settings{
		Policy:              c.Policy,
		Proxy:               settings.Proxy{Workers: 1},
		ServiceConfigFields: string(c.Caller.ServiceConfig),
	}
	if l := c.Caller.Limits; l != nil {
		s.LocalPorts = l.Ports
	}
	if p := c.Proxy; p != nil {
		s.Proxy = settings.Proxy{Sidecar: p.Place == "sidecar", Workers: p.Workers}
	}
	if o := c.Outlier; o != nil {
		s.Outlier = &settings.Outlier{Failures: float64(o.Failures) / 100, Calls: o.Calls, Interval: o.Interval, Eject: o.Eject, Most: float64(o.Most) / 100}
	}
	if r := c.Caller.Retry; r != nil {
		s.Retry = &settings.Retry{Attempts: r.Attempts, Backoff: r.Backoff, Codes: r.Codes}
		if len(r.Codes) == 0 {
			s.Retry.Codes = []string{"UNAVAILABLE"}
		}
	}
	if h := c.Caller.Hedge; h != nil {
		s.Hedge = &settings.Hedge{Attempts: h.Attempts, Delay: h.Delay}
	}
	return s
}

func callerJob(c experiment.Config, model language.Model) caller.Job {
	who := c.Caller
	job := caller.Job{
		Channels: caller.Channels{Mode: who.Channel.Mode, Pool: who.Channel.Pool},
		Timeout:  who.Timeout,
		Late:     who.Late,
		Compress: who.Compress,
		HTTP2:    who.HTTP2,
		Workload: workloadSpec(c),
		REST:     model.REST && c.Gateway == nil,
	}
	if l := who.Limits; l != nil {
		job.Limits = caller.Limits{OpenFiles: uint64(l.OpenFiles), Memory: uint64(l.Memory)}
	}
	if h := who.Hedge; h != nil {
		job.Hedge = &caller.Hedge{Attempts: h.Attempts, Delay: h.Delay}
	}
	if k := who.Keepalive; k != nil {
		job.Keepalive = &caller.Keepalive{Time: k.Time, Timeout: k.Timeout, WithoutCalls: k.WithoutCalls}
	}
	if s := who.Stream; s != nil {
		job.Stream = &caller.Stream{Renew: s.Renew, Pipelined: s.Pipelined, Users: maxInFlight(c.Load) / c.CallerCount()}
	}
	if c.Gateway != nil {
		job.Iterations = c.Gateway.Iterations
	}
	if c.Workload.Calculate != nil {
		job.Calculator = &caller.CalculatorOptions{
			Style: who.Style, Streams: who.Streams, Ahead: who.Ahead, JWT: strings.TrimPrefix(who.JWT, "none"), Metadata: who.Metadata,
		}
	}
	return job
}

// ownCommand returns the command line of a client of the user's. dir is that of the experiment.
func ownCommand(c experiment.Config, dir string) *caller.Command {
	command := &caller.Command{Args: c.Caller.Command, Dir: c.Caller.Dir, Call: c.Workload.Call, ReadyTimeout: cmp.Or(c.Caller.ReadyTimeout, time.Minute)}
	if !filepath.IsAbs(command.Dir) {
		command.Dir = filepath.Join(dir, command.Dir)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Caller.Env)) {
		command.Env = append(command.Env, name+"="+c.Caller.Env[name])
	}
	return command
}

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/netfault"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/workload"
)

// Deploy starts the backends of a service and returns when all are ready.
func (c *Cluster) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if spec.Existing != "" || spec.Program != nil && spec.Program.InPods() {
		return nil, fmt.Errorf("deploy %s: its server runs in pods: use `rpclab run --on kubernetes`, or server.command or server.addresses", spec.Name)
	}
	if spec.Addresses != nil {
		return c.deployExisting(ctx, spec)
	}
	if spec.Replicas < 1 {
		return nil, fmt.Errorf("deploy %s: %d replicas; at least 1 is needed", spec.Name, spec.Replicas)
	}
	if spec.Listen != "" && spec.Replicas != 1 {
		return nil, fmt.Errorf("deploy %s: %d replicas cannot all listen on %s", spec.Name, spec.Replicas, spec.Listen)
	}
	if err := c.checkProgram(spec.Program, spec.Replicas); err != nil {
		return nil, fmt.Errorf("deploy %s: %w", spec.Name, err)
	}
	if spec.FaultProxy = spec.FaultProxy && spec.Program != nil; spec.FaultProxy {
		if err := c.checkFaultProxy(spec.Program); err != nil {
			return nil, fmt.Errorf("deploy %s: %w", spec.Name, err)
		}
	}
	endpoints := cluster.NewEndpoints()
	names := publish.Names{Service: spec.Name, Namespace: "default", Port: c.addresses.port}
	publisher, err := publish.Serve(endpoints, names, c.addresses.own)
	if err != nil {
		return nil, err
	}
	d := newDeployment(c, spec, endpoints, publisher)
	c.mu.Lock()
	c.live[d] = true
	c.mu.Unlock()
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// deployment keeps the wanted number of backends. Like a Kubernetes Deployment it replaces a
// backend that exits by one with a new identity and address.
type deployment struct {
	cluster   *Cluster
	spec      cluster.Spec
	endpoints *cluster.Endpoints
	publisher *publish.Publisher

	ctx    context.Context // ends with Remove
	cancel context.CancelFunc
	tasks  sync.WaitGroup // one for each backend

	mu        sync.Mutex
	wanted    int
	rolling   bool // a rollout is in progress
	started   int  // numbers the identities
	replicas  []*replica
	mechanism string // that enforces the limits; empty: there are none
	account   cluster.Accounting
	detached  string // says which server is not a process of its command; empty: none
	// exitedProxyCPU is the CPU time of the fault proxies that exited.
	exitedProxyCPU time.Duration
	left           error // names processes that could not be killed
}

func newDeployment(c *Cluster, spec cluster.Spec, endpoints *cluster.Endpoints, publisher *publish.Publisher) *deployment {
	d := &deployment{cluster: c, spec: spec, endpoints: endpoints, publisher: publisher, wanted: spec.Replicas,
		account: cluster.NewAccounting()}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

func (d *deployment) Service() cluster.Service      { return d.publisher.Service() }
func (d *deployment) Endpoints() *cluster.Endpoints { return d.endpoints }

// start starts the first backends and returns when all are ready, or one has failed.
func (d *deployment) start(ctx context.Context) error {
	ready := make(chan error, d.spec.Replicas)
	for range d.spec.Replicas {
		if err := d.add(func(err error) { ready <- err }); err != nil {
			return err
		}
	}
	for range d.spec.Replicas {
		select {
		case err := <-ready:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// add starts a backend and supervises it until it exits. It calls started once, when the
// backend is ready or has failed.
func (d *deployment) add(started func(error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launch(started)
}

// launch is add with d.mu held.
func (d *deployment) launch(started func(error)) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	addr, err := d.address()
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s-%d", d.spec.Name, d.started)
	limits, err := d.cluster.limitsOf(id, d.spec)
	if err != nil {
		return err
	}
	d.mechanism = limits.mechanism
	r, err := d.startReplica(id, addr, limits)
	if err != nil {
		limits.release()
		return err
	}
	if d.spec.Zones > 1 {
		r.zone = fmt.Sprintf("zone-%d", d.started%d.spec.Zones)
	}
	d.started++
	d.replicas = append(d.replicas, r)
	d.tasks.Go(func() { d.run(r, started) })
	return nil
}

// address is where the next backend listens.
func (d *deployment) address() (netip.AddrPort, error) {
	if d.spec.Listen == "" {
		return d.cluster.addresses.allocate()
	}
	return netip.ParseAddrPort(d.spec.Listen)
}

// startReplica starts the process of a backend.
func (d *deployment) startReplica(id string, addr netip.AddrPort, limits limits) (*replica, error) {
	from := d.cluster.addresses.probeSource()
	if d.spec.Program != nil {
		r, err := startProgram(id, addr, d.spec.Program, limits, from)
		if err != nil || !d.spec.FaultProxy {
			return r, err
		}
		proxy, err := d.cluster.startFaultProxy(id, addr, d.spec.ProxyTLS)
		if err != nil {
			r.process.Kill()
			return nil, errors.Join(err, r.health.Close())
		}
		r.addProxy(proxy)
		d.tasks.Go(r.watchProxy)
		return r, nil
	}
	program := d.spec.Command
	if program == nil {
		program = d.cluster.options.Server
	}
	command := slices.Concat(program, d.spec.Args, []string{"--drain", workload.DurationArg(d.spec.Drain)})
	return startServer(id, addr, command, limits, d.spec, from)
}

// errDismissed is the failure of a backend that was stopped before it was ready.
var errDismissed = errors.New("it was stopped before it was ready")

// run supervises a backend from the start of its process to its replacement.
func (d *deployment) run(r *replica, started func(error)) {
	defer r.health.Close()
	defer r.limits.release()
	err := r.awaitReady(d.ctx)
	if err == nil {
		err = d.checkListener(r)
	}
	if err == nil {
		r.publish(d.endpoints, true)
		started(nil)
		follow(r.process.Done(), r.health, func(serving bool) { r.publish(d.endpoints, serving) })
	} else {
		d.stopDetached(r)
		r.process.Kill()
		if why := r.limits.killed(r.id, 0); why != "" {
			err = errors.New(why)
		}
		if r.isStopping() {
			err = errDismissed
		}
		started(err)
	}
	d.endpoints.Remove(r.id)
	r.endProxy()
	d.recordExit(r, err)
	if err != nil {
		// A server that cannot start must not be restarted in a tight loop.
		select {
		case <-time.After(time.Second):
		case <-d.ctx.Done():
		}
	}
	d.replace(r)
}

// checkListener notes that a server is not a process of its command, if that can be told: `docker run` lets a daemon start
// it. Limits do not hold for such a server.
func (d *deployment) checkListener(r *replica) error {
	if r.program == nil {
		return nil
	}
	at := r.addr
	if r.proxy != nil {
		at = r.listen
	}
	listens, known := measure.TreeListens(r.process.Pid(), at.String())
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.attached = listens || !known; r.attached {
		return nil
	}
	why := fmt.Sprintf("the process that listens at %s was not started by `%s` (in a container?)", at, r.program.Command[0])
	d.detached = why
	if d.mechanism != "" {
		return fmt.Errorf("server %s: %s, so server.cpus and server.memory do not limit it", r.id, why)
	}
	return nil
}

// WhyUsageUnknown implements [cluster.Unmeasured].
func (d *deployment) WhyUsageUnknown() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.detached
}

// stopDetached stops a backend by its signal if it may run in a container, which would outlive a SIGKILL of its command.
// Nobody knows that yet of a program that is not ready.
func (d *deployment) stopDetached(r *replica) {
	d.mu.Lock()
	detached, attached := d.detached != "", r.attached
	d.mu.Unlock()
	grace := unreadyGrace
	switch {
	case r.program == nil || attached && !detached:
		return
	case detached:
		grace = cmp.Or(r.program.Grace, stopGrace)
	}
	_ = r.process.Resume()
	r.process.StopBy(r.program.StopSignal(), grace)
}

// recordExit moves a backend that has exited to the account, and records an unexpected exit as a failure.
func (d *deployment) recordExit(r *replica, failed error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replicas = slices.DeleteFunc(d.replicas, func(other *replica) bool { return other == r })
	d.account.Exited[r.id] = r.finalUsage()
	if r.proxy != nil {
		d.exitedProxyCPU += r.proxy.CPU()
	}
	if err := r.process.Err(); errors.Is(err, process.ErrAlive) {
		d.left = errors.Join(d.left, fmt.Errorf("server %s at %s: %w", r.id, r.addr, err))
	}
	if r.counted {
		if calls, ok := r.FinalCallCount(); ok {
			d.account.Calls[r.id] = calls - r.began
		}
	}
	if d.ctx.Err() != nil || r.isStopping() {
		return
	}
	if why := r.limits.killed(r.id, r.oomKills); why != "" {
		failed = errors.New(why)
	}
	if r.proxy != nil && r.proxy.died.Load() {
		failed = r.proxy.failure()
	}
	if failed == nil {
		failed = fmt.Errorf("server %s exited unexpectedly: %v; %s", r.id, r.process.Err(), r.lastLines())
	}
	d.account.Failures = append(d.account.Failures, failed.Error())
}

// replace starts another backend for one that has exited, if it is still wanted.
func (d *deployment) replace(old *replica) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.active()) >= d.wanted {
		return
	}
	if err := d.launch(func(error) {}); err != nil && d.ctx.Err() == nil {
		d.account.Failures = append(d.account.Failures, fmt.Sprintf("server %s cannot be replaced: %v", old.id, err))
	}
}

// active are the backends that are not stopping; call it with d.mu held.
func (d *deployment) active() []*replica {
	var active []*replica
	for _, r := range d.replicas {
		if !r.isStopping() {
			active = append(active, r)
		}
	}
	return active
}

// LimitMechanism implements [cluster.ResourceLimits].
func (d *deployment) LimitMechanism() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mechanism
}

// Remove kills every backend: the trial is over.
func (d *deployment) Remove() error {
	d.cancel()
	d.mu.Lock()
	d.wanted = 0
	stopping := slices.Clone(d.replicas)
	d.mu.Unlock()
	var killed sync.WaitGroup
	for _, r := range stopping {
		killed.Go(func() {
			r.markStopping()
			d.stopDetached(r)
			r.kill()
		})
	}
	killed.Wait()
	d.tasks.Wait()
	d.cluster.forget(d)
	return errors.Join(d.left, netfault.StopDropping(d.spec.Name), d.publisher.Close())
}

package kubernetes

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// stoppedServer is the agent of a server that reported its calls and exited with a code.
type stoppedServer struct {
	rpclabv1.UnimplementedAgentServer
	calls string
	code  int32
}

func (s stoppedServer) Attach(stream grpc.BidiStreamingServer[rpclabv1.ToProcess, rpclabv1.FromProcess]) error {
	for _, message := range []*rpclabv1.FromProcess{
		{Message: &rpclabv1.FromProcess_Started{Started: &rpclabv1.Started{Pid: 1, Id: s.calls}}},
		{Message: &rpclabv1.FromProcess_Stdout{Stdout: []byte(s.calls + "\n")}},
		{Message: &rpclabv1.FromProcess_Ended{Ended: &rpclabv1.Ended{ExitCode: s.code}}},
	} {
		if err := stream.Send(message); err != nil {
			return err
		}
	}
	return nil
}

// process attaches to the stopped server.
func (s stoppedServer) process(t *testing.T) *agent.Process {
	t.Helper()
	process := attach(t, s)
	<-process.Done()
	return process
}

// liveServer is the agent of a server that runs and receives commands.
type liveServer struct {
	rpclabv1.UnimplementedAgentServer
	commands chan string
	id       string // of this start
}

func (s liveServer) Attach(stream grpc.BidiStreamingServer[rpclabv1.ToProcess, rpclabv1.FromProcess]) error {
	if err := stream.Send(&rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Started{Started: &rpclabv1.Started{Pid: 1, Id: s.id}}}); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		if stdin := message.GetStdin(); stdin != nil {
			s.commands <- string(stdin)
		}
	}
}

// attach attaches to the server of an agent until the test ends.
func attach(t *testing.T, of rpclabv1.AgentServer) *agent.Process {
	t.Helper()
	process, err := agent.Attach(t.Context(), connect(t, of), agent.Target{Name: "greeter-0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Detach)
	return process
}

// connect starts an agent and returns a channel to it, until the test ends.
func connect(t *testing.T, of rpclabv1.AgentServer) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterAgentServer(server, of)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestCallsOfAStoppedServerCountUntilItRestarts(t *testing.T) {
	for _, test := range []struct {
		name    string
		servers []stoppedServer // of one pod, one after another
		calls   uint64
		known   bool
	}{
		{"stopped", []stoppedServer{{calls: "12", code: 0}}, 12, true},
		{"killed", []stoppedServer{{calls: "12", code: -1}}, 0, false},
		{"restarted", []stoppedServer{{calls: "12", code: 0}, {calls: "3", code: 0}}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			backend := newReplica(nil, &corev1.Pod{}, cluster.Spec{})
			for _, server := range test.servers {
				if err := backend.adopt(server.process(t)); err != nil {
					t.Fatal(err)
				}
				testkit.Await(t, "the last output is read", func() bool {
					_, ok := backend.count()
					return ok == (server.code == 0)
				})
			}
			if calls, known := backend.calls(); calls != test.calls || known != test.known {
				t.Errorf("%d calls (known: %t), want %d (known: %t)", calls, known, test.calls, test.known)
			}
			if calls, known := backend.finalCalls(t.Context()); calls != test.calls || known != test.known {
				t.Errorf("after the pod is gone: %d calls (known: %t), want %d (known: %t)", calls, known, test.calls, test.known)
			}
		})
	}
}

// A server whose connection was lost is still slow, and still paused. One that was started again is neither.
func TestAFaultOutlivesALostConnection(t *testing.T) {
	backend := newReplica(nil, &corev1.Pod{}, cluster.Spec{})
	for _, step := range []struct {
		name, id string
		change   func(*workload.Fault)
		want     workload.Fault
		paused   bool
	}{
		{"attached", "first", func(f *workload.Fault) { f.Slow = time.Second }, workload.Fault{Slow: time.Second}, false},
		{"attached again", "first", func(f *workload.Fault) { f.Factor = 3 }, workload.Fault{Slow: time.Second, Factor: 3}, true},
		{"started again", "second", func(f *workload.Fault) { f.Factor = 2 }, workload.Fault{Factor: 2}, false},
	} {
		server := liveServer{commands: make(chan string, 10), id: step.id}
		process := attach(t, server)
		if err := backend.adopt(process); err != nil {
			t.Fatal(err)
		}
		if err := backend.setFault(step.change); err != nil {
			t.Fatal(err)
		}
		var command workload.Command
		if err := json.Unmarshal([]byte(<-server.commands), &command); err != nil || command.Fault == nil || *command.Fault != step.want {
			t.Errorf("%s: the fault is %+v, %v; want %+v", step.name, command.Fault, err, step.want)
		}
		if backend.isPaused() != step.paused {
			t.Errorf("%s: paused: %t, want %t", step.name, backend.isPaused(), step.paused)
		}
		backend.paused = true // as a signal does
		process.Detach()
	}
}

// A pod that drains still answers calls. One that has ended cannot recover, which is no error.
func TestRecoverReachesEveryBackendThatRuns(t *testing.T) {
	deleted := metav1.Now()
	for _, test := range []struct {
		name                               string
		crashed, disconnected, stops, runs bool
		recovers, fails                    bool
	}{
		{name: "ready", runs: true, recovers: true},
		{name: "drains", runs: true, stops: true, recovers: true},
		{name: "crashed, and the cluster has not reported it", runs: true, crashed: true},
		{name: "evicted", disconnected: true},
		{name: "killed", runs: true, disconnected: true, stops: true},
		{name: "its agent does not answer", runs: true, disconnected: true, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := liveServer{commands: make(chan string, 10)}
			var process *agent.Process
			if test.crashed {
				process = stoppedServer{code: -1}.process(t)
			} else {
				process = attach(t, server)
			}
			container := corev1.ContainerStatus{Name: mainContainer}
			if test.runs {
				container.State.Running = &corev1.ContainerStateRunning{}
			}
			present := backendPod("greeter-1-a", 0)
			present.Status.ContainerStatuses = []corev1.ContainerStatus{container}
			if test.stops {
				present.DeletionTimestamp = &deleted
			}
			backend := newReplica(nil, present, cluster.Spec{})
			if err := backend.adopt(process); err != nil {
				t.Fatal(err)
			}
			if test.disconnected {
				process.Detach()
			}
			watcher, _ := watcherOf(present)
			d := &deployment{run: &run{watcher: watcher}, name: "greeter-1", replicas: map[types.UID]*replica{present.UID: backend}}
			if err := d.Recover(t.Context()); (err != nil) != test.fails {
				t.Errorf("recover returns %v", err)
			}
			if !test.recovers {
				return
			}
			select {
			case command := <-server.commands:
				if command != `{"fault":{}}`+"\n" {
					t.Errorf("the server receives %q, want the end of its fault", command)
				}
			case <-time.After(10 * time.Second):
				t.Error("the server receives no command")
			}
		})
	}
}

// measuredServer is the agent of a server that runs and has used some CPU time.
type measuredServer struct {
	liveServer
	used *atomic.Int64 // nanoseconds
}

func (s measuredServer) Usage(context.Context, *rpclabv1.UsageRequest) (*rpclabv1.UsageReply, error) {
	return &rpclabv1.UsageReply{CpuNs: s.used.Load()}, nil
}

// A rollout measures all servers when it begins, and stops the last much later.
func TestAServerIsMeasuredWhenItStops(t *testing.T) {
	server := measuredServer{liveServer{commands: make(chan string, 10)}, &atomic.Int64{}}
	pod := backendPod("greeter-1-a", 1)
	watcher, update := watcherOf(pod)
	backend := newReplica(nil, pod, cluster.Spec{})
	if err := backend.adopt(attach(t, server)); err != nil {
		t.Fatal(err)
	}
	d := &deployment{ctx: t.Context(), run: &run{watcher: watcher}, name: "greeter-1", account: cluster.NewAccounting(), replicas: map[types.UID]*replica{pod.UID: backend}}
	server.used.Store(int64(time.Second))
	backend.sample() // as an event does
	server.used.Store(int64(time.Minute))
	stopping := pod.DeepCopy()
	stopping.DeletionTimestamp = new(metav1.Now())
	update(stopping)
	d.updateReplicas()
	testkit.Await(t, "the server is measured", func() bool { return lastUsage(backend).CPU == time.Minute })
	server.used.Store(int64(time.Hour))
	testkit.Await(t, "the server is measured again", func() bool { return lastUsage(backend).CPU == time.Hour })
	close(backend.gone)
	d.tasks.Wait()
}

// lastUsage is what the server had used when it was last measured.
func lastUsage(backend *replica) cluster.Usage {
	used, _ := backend.usage()
	return used
}

// The CPU time of a server whose agent does not answer at the end of the load is not 0.
func TestTheUsageOfOwnServersIsOfTheWholeLoadOrUnknown(t *testing.T) {
	deleted := metav1.Now()
	for _, c := range []struct {
		name                      string
		lostAtReset, lostAtTheEnd bool
		change                    func(d *deployment, backend *replica, process *agent.Process) // during the load
		want                      time.Duration                                                 // -1: not known
	}{
		{name: "runs", want: time.Minute},
		{name: "not attached at the end", lostAtTheEnd: true, want: -1},
		{name: "not attached at the beginning", lostAtReset: true, want: -1},
		{name: "measured by an event, and not attached at the end", lostAtTheEnd: true, want: -1,
			change: func(_ *deployment, backend *replica, _ *agent.Process) { backend.sample() }},
		{name: "stops", lostAtTheEnd: true, want: time.Minute, change: func(_ *deployment, backend *replica, _ *agent.Process) {
			backend.sample()
			stopping := backend.seen().DeepCopy()
			stopping.DeletionTimestamp = &deleted
			backend.update(stopping)
		}},
		{name: "starts again", want: -1, change: func(_ *deployment, backend *replica, process *agent.Process) {
			process.Detach()
			other := measuredServer{liveServer{commands: make(chan string, 10), id: "second"}, &atomic.Int64{}}
			if err := backend.adopt(attach(t, other)); err != nil {
				t.Error(err)
			}
		}},
		{name: "joined by one that starts", want: time.Minute, change: func(d *deployment, _ *replica, _ *agent.Process) {
			d.replicas["b"] = ownRunning("b")
		}},
		{name: "joined by one that serves without an agent", want: -1, change: func(d *deployment, _ *replica, _ *agent.Process) {
			other := ownRunning("b")
			serving := other.seen().DeepCopy()
			serving.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			other.update(serving)
			d.replicas["b"] = other
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := measuredServer{liveServer{commands: make(chan string, 10), id: "first"}, &atomic.Int64{}}
			backend, process := ownRunning("a"), attach(t, server)
			if err := backend.adopt(process); err != nil {
				t.Fatal(err)
			}
			d := &deployment{name: "greeter-1", replicas: map[types.UID]*replica{"a": backend}}
			if c.lostAtReset {
				process.Detach()
			}
			if err := d.ResetUsage(); err != nil {
				t.Fatal(err)
			}
			if c.lostAtReset { // and attached again
				process = attach(t, server)
				if err := backend.adopt(process); err != nil {
					t.Fatal(err)
				}
			}
			server.used.Store(int64(time.Minute))
			if c.change != nil {
				c.change(d, backend, process)
			}
			if c.lostAtTheEnd {
				process.Detach()
			}
			used := d.Usage()
			switch {
			case c.want < 0 && (used != nil || d.WhyUsageUnknown() == ""):
				t.Errorf("the usage is %v (%q), want unknown and why", used, d.WhyUsageUnknown())
			case c.want > 0 && used[backend.name].CPU != c.want:
				t.Errorf("the usage is %v (%q), want %v", used, d.WhyUsageUnknown(), c.want)
			}
		})
	}
}

// ownRunning is a replica of rpclab's own server that runs.
func ownRunning(name string) *replica {
	pod := running(name).seen()
	backend := newReplica(nil, pod, cluster.Spec{})
	backend.update(pod)
	return backend
}

package kubernetes

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

// stoppedServer is the agent of a server that reported its calls and exited with a code.
type stoppedServer struct {
	rpclabv1.UnimplementedAgentServer
	calls string
	code  int32
}

func (s stoppedServer) Attach(stream grpc.BidiStreamingServer[rpclabv1.ToProcess, rpclabv1.FromProcess]) error {
	for _, message := range []*rpclabv1.FromProcess{
		{Message: &rpclabv1.FromProcess_Started{Started: &rpclabv1.Started{Pid: 1}}},
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterAgentServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	process, err := agent.Attach(t.Context(), conn, agent.Target{Name: "greeter-0"})
	if err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	return process
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

package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/agent"
	"rpclab/internal/testkit"
)

// freeAddress returns an address on which no program listened a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestAServerKeepsRunningWhenAStreamEndsAndStopsWithItsAgent(t *testing.T) {
	serverAddress := freeAddress(t)
	agentProcess, address := startAgent(t, nil, "rpclab", "server", "--listen", serverAddress, "--id", "greeter-0", "--supervised")
	client := greeter(t, serverAddress)
	if got := sayHello(t, client); got != "greeter-0" {
		t.Errorf("before a stream attached %q handled the call, want greeter-0", got)
	}
	conn := dial(t, address)
	first, err := agent.Attach(t.Context(), conn, agent.Target{Name: "greeter-0"})
	if err != nil {
		t.Fatal(err)
	}
	writeLine(t, first, `{"count":true}`)
	if got := readLine(t, bufio.NewReader(first.Stdout())); got != "1" {
		t.Errorf("the server counted %s calls, want 1", got)
	}
	conn.Close()
	awaitExit(t, first)
	if !errors.Is(first.Err(), agent.ErrDisconnected) {
		t.Errorf("after the connection closed the stream ended with %v, want ErrDisconnected", first.Err())
	}
	sayHello(t, client)
	second := attach(t, address)
	if second.ID() == "" || second.ID() != first.ID() {
		t.Errorf("the program has the ID %q, and %q after the connection was lost; want the same", first.ID(), second.ID())
	}
	writeLine(t, second, `{"count":true}`)
	out := bufio.NewReader(second.Stdout())
	if got := readLine(t, out); got != "2" {
		t.Errorf("the server counted %s calls, want 2", got)
	}
	if err := agentProcess.Signal(syscall.SIGTERM); err != nil { // as a kubelet does
		t.Fatal(err)
	}
	if got := readLine(t, out); got != "2" {
		t.Errorf("when it stopped the server had counted %s calls, want 2", got)
	}
	awaitExit(t, second)
	awaitExit(t, agentProcess)
	if second.Err() != nil || agentProcess.Err() != nil {
		t.Errorf("after SIGTERM to the agent the server ended with %v and the agent with %v, want no errors", second.Err(), agentProcess.Err())
	}
}

func TestAStreamReceivesOutputFromBeforeItAttached(t *testing.T) {
	_, address := startAgent(t, nil, "sh", "-c", "echo early; cat")
	for n := range 3 {
		p := attach(t, address)
		out := bufio.NewReader(p.Stdout())
		if n == 0 {
			if got := readLine(t, out); got != "early" {
				t.Errorf("the first stream read %q, want early", got)
			}
		}
		writeLine(t, p, fmt.Sprint("line ", n))
		if got := readLine(t, out); got != fmt.Sprint("line ", n) {
			t.Errorf("stream %d read %q, want %q", n, got, fmt.Sprint("line ", n))
		}
		p.Detach()
	}
}

func TestAnAgentExitsWithTheStatusOfItsProgram(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "<nil>", "exit 7": "exit status 7", "kill -KILL $$": "exit status 137", "kill -TERM $$": "exit status 143",
	} {
		agentProcess, _ := startAgent(t, nil, "sh", "-c", "sleep 0.2; "+script)
		awaitExit(t, agentProcess)
		if got := fmt.Sprint(agentProcess.Err()); got != want {
			t.Errorf("%s: the agent ended with %s, want %s", script, got, want)
		}
	}
}

func TestAnAgentThatIsStoppedWaitsForTheProgramOfAStream(t *testing.T) {
	agentProcess, address := startAgent(t, nil)
	p := attach(t, address, "sh", "-c", `trap 'echo stopping; sleep 0.3; echo done; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
	out := bufio.NewReader(p.Stdout())
	readLine(t, out)
	if err := errors.Join(p.Signal(t.Context(), syscall.SIGSTOP), agentProcess.Signal(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, out) + ", " + readLine(t, out); got != "stopping, done" {
		t.Errorf("the program wrote %s, want stopping, done", got)
	}
	awaitExit(t, p)
	awaitExit(t, agentProcess)
	if p.Err() != nil || agentProcess.Err() == nil || agentProcess.Err().Error() != "exit status 143" { // not 0, so that the Job starts another pod
		t.Errorf("the program ended with %v and the agent with %v, want no error and exit status 143", p.Err(), agentProcess.Err())
	}
}

// lossyConn loses the response of every unary call.
type lossyConn struct{ *grpc.ClientConn }

func (c lossyConn) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	if err := c.ClientConn.Invoke(ctx, method, request, reply, options...); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "the response is lost")
}

// An agent exits with its own program, sometimes before the client has read the response.
func TestAKillWhoseResponseIsLostSucceeds(t *testing.T) {
	_, address := startAgent(t, nil, "sleep", "60")
	p, err := agent.Attach(t.Context(), lossyConn{dial(t, address)}, agent.Target{Name: "greeter-0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(t.Context(), syscall.SIGCONT); status.Code(err) != codes.Unavailable {
		t.Errorf("another signal whose response is lost returned %v, want Unavailable", err)
	}
	if err := p.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Errorf("SIGKILL whose response is lost returned %v, want no error", err)
	}
	awaitExit(t, p)
}

func TestAnAgentReapsOrphans(t *testing.T) {
	agentProcess, address := startAgent(t, nil)
	// The agent kills the grandchild too, which is in another session. It is an orphan then.
	p := attach(t, address, "sh", "-c", `setsid sh -c 'echo $$; exec sleep 60' & cat`)
	orphan := readLine(t, bufio.NewReader(p.Stdout()))
	p.Kill()
	testkit.AwaitFor(t, time.Minute, "the orphan is reaped", func() bool {
		_, err := os.Stat("/proc/" + orphan)
		return os.IsNotExist(err)
	})
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", agentProcess.Pid(), agentProcess.Pid()))
	if err != nil || strings.TrimSpace(string(children)) != "" {
		t.Errorf("the agent has the children %q (%v), want none", children, err)
	}
}

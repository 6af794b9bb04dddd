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

// freeAddress is one that nothing listened at a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestAServerAnswersCallsAndOrdersAndOutlivesWhoAttends(t *testing.T) {
	at := freeAddress(t)
	stands, address := run(t, nil, "rpclab", "server", "--listen", at, "--id", "greeter-0", "--supervised")
	client := greeter(t, at)
	if got := hello(t, client); got != "greeter-0" {
		t.Errorf("%q answered before anybody attended", got)
	}
	conn := dial(t, address)
	first, err := agent.Attach(t.Context(), conn, agent.Target{Name: "greeter-0"})
	if err != nil {
		t.Fatal(err)
	}
	say(t, first, `{"count":true}`)
	if got := answer(t, bufio.NewReader(first.Stdout())); got != "1" {
		t.Errorf("it counted %s calls, not 1", got)
	}
	conn.Close() // the way breaks
	await(t, first)
	if !errors.Is(first.Err(), agent.ErrDisconnected) {
		t.Errorf("the way was lost with %v", first.Err())
	}
	hello(t, client)
	second := attend(t, address)
	say(t, second, `{"count":true}`)
	out := bufio.NewReader(second.Stdout())
	if got := answer(t, out); got != "2" {
		t.Errorf("it counted %s calls, not 2", got)
	}
	if err := stands.Signal(syscall.SIGTERM); err != nil { // as a kubelet does
		t.Fatal(err)
	}
	if got := answer(t, out); got != "2" {
		t.Errorf("in the end it counted %s calls", got)
	}
	await(t, second)
	await(t, stands)
	if second.Err() != nil || stands.Err() != nil {
		t.Errorf("told to end, the server ended with %v, its agent with %v", second.Err(), stands.Err())
	}
}

func TestWhatWasWrittenBeforeIsReadByWhoComes(t *testing.T) {
	_, address := run(t, nil, "sh", "-c", "echo early; cat")
	for n := range 3 {
		p := attend(t, address)
		out := bufio.NewReader(p.Stdout())
		if n == 0 && answer(t, out) != "early" {
			t.Error("what was written early is lost")
		}
		say(t, p, fmt.Sprint("line ", n))
		if got := answer(t, out); got != fmt.Sprint("line ", n) {
			t.Errorf("stream %d read %q", n, got)
		}
		p.Detach()
	}
}

func TestAnAgentEndsAsItsProgramDoes(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "<nil>", "exit 7": "exit status 7", "kill -KILL $$": "exit status 137", "kill -TERM $$": "exit status 143",
	} {
		stands, _ := run(t, nil, "sh", "-c", "sleep 0.2; "+script)
		await(t, stands)
		if got := fmt.Sprint(stands.Err()); got != want {
			t.Errorf("%s: its agent ended with %s, not %s", script, got, want)
		}
	}
}

func TestAnAgentThatIsToldToEndAwaitsTheProgramThatItStarted(t *testing.T) {
	stands, address := run(t, nil)
	p := attend(t, address, "sh", "-c", `trap 'echo told; sleep 0.3; echo done; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
	out := bufio.NewReader(p.Stdout())
	answer(t, out)
	if err := errors.Join(p.Signal(t.Context(), syscall.SIGSTOP), stands.Signal(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, out) + ", " + answer(t, out); got != "told, done" {
		t.Errorf("it said %s", got)
	}
	await(t, p)
	await(t, stands)
	if p.Err() != nil || stands.Err() == nil || stands.Err().Error() != "exit status 143" { // so that another takes its place
		t.Errorf("it ended with %v, its agent with %v", p.Err(), stands.Err())
	}
}

// losing loses the answer of every call but those on streams.
type losing struct{ *grpc.ClientConn }

func (l losing) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	if err := l.ClientConn.Invoke(ctx, method, request, reply, options...); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "the answer is lost")
}

// An agent goes with its program, and may be gone before its answer was read.
func TestAKillIsDoneThoughItsAnswerIsLost(t *testing.T) {
	_, address := run(t, nil, "sleep", "60")
	p, err := agent.Attach(t.Context(), losing{dial(t, address)}, agent.Target{Name: "it"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(t.Context(), syscall.SIGCONT); status.Code(err) != codes.Unavailable {
		t.Errorf("of another signal nobody knows: %v", err)
	}
	if err := p.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	await(t, p)
}

func TestOrphansAreBuried(t *testing.T) {
	stands, address := run(t, nil)
	// A grandchild in a session of its own, which no signal to a group reaches.
	p := attend(t, address, "sh", "-c", `setsid sh -c 'echo $$; exec sleep 0.5' & cat`)
	orphan := answer(t, bufio.NewReader(p.Stdout()))
	p.Kill()
	testkit.AwaitFor(t, time.Minute, "nothing is left of the orphan", func() bool {
		_, err := os.Stat("/proc/" + orphan)
		return os.IsNotExist(err)
	})
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", stands.Pid(), stands.Pid()))
	if err != nil || strings.TrimSpace(string(children)) != "" {
		t.Errorf("children of the agent: %q, %v", children, err)
	}
}

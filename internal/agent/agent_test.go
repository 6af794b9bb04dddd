package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var _ cluster.Process = (*agent.Process)(nil)

// startAgent starts an agent that listens on loopback. command is the agent's own program, if any.
func startAgent(t *testing.T, flags []string, command ...string) (agentProcess *process.Process, address string) {
	t.Helper()
	args := append([]string{testkit.Rpclab(t), "agent", "--listen", "127.0.0.1:0"}, flags...)
	if command != nil {
		args = append(append(args, "--"), command...)
	}
	p, err := process.Start(process.Spec{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	serving := regexp.MustCompile(`msg=serving address=(\S+)`)
	testkit.AwaitFor(t, time.Minute, "the agent listens", func() bool { return serving.MatchString(p.Log()) })
	return p, serving.FindStringSubmatch(p.Log())[1]
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := agent.Dial(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// attach lets the agent at an address start a program, or attaches to the agent's own program.
func attach(t *testing.T, address string, args ...string) *agent.Process {
	t.Helper()
	p, err := agent.Attach(t.Context(), dial(t, address), agent.Target{Name: "caller-0", Host: "10.0.0.1", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Detach)
	return p
}

// awaitExit waits until a process has exited.
func awaitExit(t *testing.T, p interface{ Done() <-chan struct{} }) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the process has not exited within a minute")
	}
}

// writeLine writes a line to a program's standard input.
func writeLine(t *testing.T, p *agent.Process, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.Stdin(), line); err != nil {
		t.Fatal(err)
	}
}

// readLine reads a line of a program's output.
func readLine(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func TestAProgramReadsInputAndItsOutputAndExitStatusArrive(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "sh", "-c", `while read -r line; do echo "read $line"; done; echo finished >&2; exit 3`)
	out := bufio.NewReader(p.Stdout())
	for _, line := range []string{"one", "", "two words"} {
		writeLine(t, p, line)
		if got := readLine(t, out); got != "read "+line {
			t.Errorf("after the input %q the program wrote %q, want %q", line, got, "read "+line)
		}
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, p)
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.ExitCode != 3 || p.Err().Error() != "exit status 3" {
		t.Errorf("the program ended with %v, want exit status 3", p.Err())
	}
	if p.Log() != "finished" || p.Name() != "caller-0" || p.Host() != "10.0.0.1" {
		t.Errorf("log %q, name %s, host %s; want finished, caller-0, 10.0.0.1", p.Log(), p.Name(), p.Host())
	}
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("after the exit the output is %q, %v; want its end", rest, err)
	}
}

func TestTenMegabytesAreEchoedUnchanged(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "cat")
	sent := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	for i := range sent {
		sent[i] ^= byte(i >> 12)
	}
	go func() {
		_, _ = p.Stdin().Write(sent)
		_ = p.Stdin().Close()
	}()
	got, err := io.ReadAll(p.Stdout())
	awaitExit(t, p)
	if err != nil || p.Err() != nil || sha256.Sum256(got) != sha256.Sum256(sent) {
		t.Errorf("received %d bytes (%v, %v), want the %d bytes sent", len(got), err, p.Err(), len(sent))
	}
}

func TestAProgramWhoseOutputIsNotReadCanBeMeasuredAndKilled(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "sh", "-c", "cat /dev/zero")
	go func() { // the program does not read this input
		_, _ = p.Stdin().Write(make([]byte, 10<<20))
	}()
	testkit.Await(t, "the program uses memory", func() bool {
		used, err := p.Usage(t.Context())
		return err == nil && used.MaxRSS > 0
	})
	p.Kill()
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.Signal != syscall.SIGKILL || !ended.Requested {
		t.Errorf("the program ended with %v, want a requested SIGKILL", p.Err())
	}
}

func TestAProgramCanBeSuspendedAndResumed(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "cat")
	out := bufio.NewReader(p.Stdout())
	if err := p.Signal(t.Context(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	writeLine(t, p, "hello")
	read := make(chan string)
	go func() { read <- readLine(t, out) }()
	select {
	case <-read:
		t.Error("a suspended program wrote a line")
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Signal(t.Context(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "hello" {
		t.Errorf("the resumed program wrote %q, want hello", got)
	}
}

func TestUsageCountsTheProgramsCPUTimeSinceTheLastReset(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "sh", "-c", "echo busy >&2; while :; do :; done")
	testkit.Await(t, "the program has used 50 ms of CPU time", func() bool {
		used, err := p.Usage(t.Context())
		return err == nil && used.CPU >= 50*time.Millisecond && used.MaxRSS > 1<<18
	})
	before, err := p.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Signal(t.Context(), syscall.SIGSTOP), p.ResetUsage(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after, err := p.Usage(t.Context()); err != nil || after.CPU >= before.CPU {
		t.Errorf("CPU time %v after the reset (%v), want less than %v, the CPU time before", after.CPU, err, before.CPU)
	}
	if p.Log() != "busy" {
		t.Errorf("log %q, want busy", p.Log())
	}
}

func TestARequestedKillIsDistinguishedFromOthers(t *testing.T) {
	_, address := startAgent(t, nil)
	p := attach(t, address, "sh", "-c", "kill -KILL $$")
	awaitExit(t, p)
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.Signal != syscall.SIGKILL || ended.Requested {
		t.Errorf("the program ended with %v, want a SIGKILL that was not requested", p.Err())
	}
	if ended.OOMKills = 1; !ended.OOMKilled() || !strings.Contains(ended.Error(), "memory limit") {
		t.Errorf("after an OOM kill the error is %q, want it to name the memory limit", ended)
	}
}

func TestAProgramThatAStreamStartedEndsWithTheStream(t *testing.T) {
	_, address := startAgent(t, nil)
	ids := map[string]bool{}
	for range 3 { // each stream starts a new program
		p := attach(t, address, "sh", "-c", "echo $$; cat")
		pid := readLine(t, bufio.NewReader(p.Stdout()))
		p.Detach()
		if !errors.Is(p.Err(), agent.ErrDisconnected) {
			t.Errorf("the stream ended with %v, want ErrDisconnected", p.Err())
		}
		testkit.Await(t, "the program has ended", func() bool { return hasEnded(pid) })
		ids[p.ID()] = true
	}
	if len(ids) != 3 {
		t.Errorf("the programs have the IDs %v, want three", ids)
	}
}

func TestANewStreamReplacesTheOneBefore(t *testing.T) {
	_, address := startAgent(t, nil)
	first := attach(t, address, "sh", "-c", "echo $$; cat")
	pid := readLine(t, bufio.NewReader(first.Stdout()))
	second := attach(t, address, "cat")
	awaitExit(t, first)
	if !hasEnded(pid) || !errors.Is(first.Err(), agent.ErrDisconnected) || status.Code(first.Err()) != codes.Aborted {
		t.Errorf("the first stream ended with %v (its program has ended: %v), want ErrDisconnected, Aborted and an ended program", first.Err(), hasEnded(pid))
	}
	writeLine(t, second, "hello")
	if got := readLine(t, bufio.NewReader(second.Stdout())); got != "hello" {
		t.Errorf("the program of the second stream wrote %q, want hello", got)
	}
	if err := first.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// hasEnded reports whether a process has ended. A process that nobody waits for is a zombie (Z).
func hasEnded(pid string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestAnAgentRejectsWrongRequestsWithTheReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, idle := startAgent(t, nil)
	_, busy := startAgent(t, nil, "cat")
	_, guarded := startAgent(t, []string{"--token-file", file})
	for _, c := range []struct {
		address string
		target  agent.Target
		code    codes.Code
		message string
	}{
		{idle, agent.Target{}, codes.InvalidArgument, "args must name"},
		{idle, agent.Target{Args: []string{"/no/such/program"}}, codes.FailedPrecondition, "/no/such/program"},
		{busy, agent.Target{Args: []string{"cat"}}, codes.FailedPrecondition, "has its own program"},
		{guarded, agent.Target{Args: []string{"cat"}}, codes.Unauthenticated, "token"},
		{guarded, agent.Target{Args: []string{"cat"}, Token: "secreT"}, codes.Unauthenticated, "token"},
		{idle, agent.Target{Args: []string{"cat", strings.Repeat("x", 1<<20)}}, codes.ResourceExhausted, "larger than max"},
	} {
		c.target.Name = "caller-7"
		p, err := agent.Attach(t.Context(), dial(t, c.address), c.target)
		if err == nil {
			p.Kill()
		}
		if got := fmt.Sprint(err); status.Code(err) != c.code || !strings.Contains(got, c.message) || !strings.Contains(got, "caller-7") {
			t.Errorf("%.40q: got %v, want %s with %q and caller-7", c.target.Args, err, c.code, c.message)
		}
	}
	client := rpclabv1.NewAgentClient(dial(t, guarded))
	if _, err := client.Usage(t.Context(), &rpclabv1.UsageRequest{Pid: 1}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("usage without a token: got %v, want Unauthenticated", err)
	}
	p, err := agent.Attach(t.Context(), dial(t, guarded), agent.Target{Name: "caller-0", Token: "secret", Args: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	awaitExit(t, p)
	if p.Err() != nil {
		t.Errorf("with the agent's token the program ended with %v, want no error", p.Err())
	}
	client = rpclabv1.NewAgentClient(dial(t, idle))
	if _, err := client.Signal(t.Context(), &rpclabv1.SignalRequest{Pid: 1, Signal: 9}); status.Code(err) != codes.NotFound {
		t.Errorf("a signal to a process that is not the agent's: got %v, want NotFound", err)
	}
	open, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), "agent", "--listen", "0.0.0.0:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Kill()
	awaitExit(t, open)
	if !strings.Contains(open.Log(), "--token-file") || !strings.Contains(open.Err().Error(), "status 2") {
		t.Errorf("an agent on 0.0.0.0 without a token ended with %v: %s; want exit status 2 and a message that names --token-file", open.Err(), open.Log())
	}
}

// greeter returns a client of the server at an address.
func greeter(t *testing.T, address string) rpclabv1.GreeterClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return rpclabv1.NewGreeterClient(conn)
}

// sayHello makes a call and returns the backend that handled the call.
func sayHello(t *testing.T, client rpclabv1.GreeterClient) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := client.SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Backend
}

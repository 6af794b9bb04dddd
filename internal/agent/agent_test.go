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

// run starts an agent that listens on loopback, perhaps with a program of its own.
func run(t *testing.T, flags []string, command ...string) (agentProcess *process.Process, address string) {
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
	said := regexp.MustCompile(`msg=serving address=(\S+)`)
	testkit.AwaitFor(t, time.Minute, "the agent listens", func() bool { return said.MatchString(p.Log()) })
	return p, said.FindStringSubmatch(p.Log())[1]
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

// attend starts a program by the agent at an address, or takes up its own.
func attend(t *testing.T, address string, args ...string) *agent.Process {
	t.Helper()
	p, err := agent.Attach(t.Context(), dial(t, address), agent.Target{Name: "caller-0", Host: "10.0.0.1", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Detach)
	return p
}

// await waits for the end of a program.
func await(t *testing.T, p interface{ Done() <-chan struct{} }) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it has not ended within a minute")
	}
}

// say writes a line, and answer reads one.
func say(t *testing.T, p *agent.Process, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.Stdin(), line); err != nil {
		t.Fatal(err)
	}
}

func answer(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func TestLinesGoInAndOut(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "sh", "-c", `while read -r line; do echo "heard $line"; done; echo over >&2; exit 3`)
	out := bufio.NewReader(p.Stdout())
	for _, line := range []string{"one", "", "two words"} {
		say(t, p, line)
		if got := answer(t, out); got != "heard "+line {
			t.Errorf("to %q it said %q", line, got)
		}
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	await(t, p)
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.ExitCode != 3 || p.Err().Error() != "exit status 3" {
		t.Errorf("it ended with %v", p.Err())
	}
	if p.Log() != "over" || p.Name() != "caller-0" || p.Host() != "10.0.0.1" {
		t.Errorf("log %q, name %s, host %s", p.Log(), p.Name(), p.Host())
	}
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("after its end: %q, %v", rest, err)
	}
}

func TestTenMegabytesArriveAsTheyAre(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "cat")
	sent := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	for i := range sent {
		sent[i] ^= byte(i >> 12)
	}
	go func() {
		_, _ = p.Stdin().Write(sent)
		_ = p.Stdin().Close()
	}()
	got, err := io.ReadAll(p.Stdout())
	await(t, p)
	if err != nil || p.Err() != nil || sha256.Sum256(got) != sha256.Sum256(sent) {
		t.Errorf("%d bytes of %d came back: %v, %v", len(got), len(sent), err, p.Err())
	}
}

func TestAProgramThatNobodyReadsCanBeAskedAndKilled(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "sh", "-c", "cat /dev/zero")
	go func() { // input that it never reads
		_, _ = p.Stdin().Write(make([]byte, 10<<20))
	}()
	testkit.Await(t, "it has written", func() bool {
		used, err := p.Usage(t.Context())
		return err == nil && used.MaxRSS > 0
	})
	p.Kill()
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.Signal != syscall.SIGKILL || !ended.Asked {
		t.Errorf("it ended with %v", p.Err())
	}
}

func TestAProgramCanBeStoppedAndLetGoOn(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "cat")
	out := bufio.NewReader(p.Stdout())
	if err := p.Signal(t.Context(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	say(t, p, "hello")
	heard := make(chan string)
	go func() { heard <- answer(t, out) }()
	select {
	case <-heard:
		t.Error("a stopped program answered")
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Signal(t.Context(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "hello" {
		t.Errorf("it said %q", got)
	}
}

func TestUsageIsThatOfTheProgram(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "sh", "-c", "echo busy >&2; while :; do :; done")
	testkit.Await(t, "it has used 50 ms", func() bool {
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
		t.Errorf("it used %v before and %v after counting began anew: %v", before.CPU, after.CPU, err)
	}
	if p.Log() != "busy" {
		t.Errorf("log %q", p.Log())
	}
}

func TestAKillThatNobodyAskedForIsToldFromOurs(t *testing.T) {
	_, address := run(t, nil)
	p := attend(t, address, "sh", "-c", "kill -KILL $$")
	await(t, p)
	var ended *agent.Ended
	if !errors.As(p.Err(), &ended) || ended.Signal != syscall.SIGKILL || ended.Asked {
		t.Errorf("it ended with %v", p.Err())
	}
	if ended.OOMKills = 1; !ended.OOMKilled() || !strings.Contains(ended.Error(), "memory limit") {
		t.Errorf("where the kernel killed for memory it would say %v", ended)
	}
}

func TestAProgramThatTheAgentWasToldToStartEndsWithTheStream(t *testing.T) {
	_, address := run(t, nil)
	for range 3 { // each a fresh one
		p := attend(t, address, "sh", "-c", "echo $$; cat")
		pid := answer(t, bufio.NewReader(p.Stdout()))
		p.Detach()
		if !errors.Is(p.Err(), agent.ErrDisconnected) {
			t.Errorf("it ended with %v", p.Err())
		}
		testkit.Await(t, "the program is gone", func() bool { return gone(pid) })
	}
}

func TestTheNextStreamTakesOver(t *testing.T) {
	_, address := run(t, nil)
	first := attend(t, address, "sh", "-c", "echo $$; cat")
	pid := answer(t, bufio.NewReader(first.Stdout()))
	second := attend(t, address, "cat")
	await(t, first)
	if !gone(pid) || !errors.Is(first.Err(), agent.ErrDisconnected) || status.Code(first.Err()) != codes.Aborted {
		t.Errorf("the first ended with %v", first.Err())
	}
	say(t, second, "still here")
	if got := answer(t, bufio.NewReader(second.Stdout())); got != "still here" {
		t.Errorf("the second said %q", got)
	}
	if err := first.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// gone says whether a process has ended; one that nobody waits for is a zombie.
func gone(pid string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestWrongRequestsSayWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, idle := run(t, nil)
	_, busy := run(t, nil, "cat")
	_, guarded := run(t, []string{"--token-file", file})
	for _, c := range []struct {
		address string
		place   agent.Target
		code    codes.Code
		says    string
	}{
		{idle, agent.Target{}, codes.InvalidArgument, "args must name"},
		{idle, agent.Target{Args: []string{"/no/such/program"}}, codes.FailedPrecondition, "/no/such/program"},
		{busy, agent.Target{Args: []string{"cat"}}, codes.FailedPrecondition, "has its own program"},
		{guarded, agent.Target{Args: []string{"cat"}}, codes.Unauthenticated, "token"},
		{guarded, agent.Target{Args: []string{"cat"}, Token: "secreT"}, codes.Unauthenticated, "token"},
		{idle, agent.Target{Args: []string{"cat", strings.Repeat("x", 1<<20)}}, codes.ResourceExhausted, "larger than max"},
	} {
		c.place.Name = "caller-7"
		p, err := agent.Attach(t.Context(), dial(t, c.address), c.place)
		if err == nil {
			p.Kill()
		}
		if said := fmt.Sprint(err); status.Code(err) != c.code || !strings.Contains(said, c.says) || !strings.Contains(said, "caller-7") {
			t.Errorf("%.40q: got %v, want %s with %q", c.place.Args, err, c.code, c.says)
		}
	}
	client := rpclabv1.NewAgentClient(dial(t, guarded))
	if _, err := client.Usage(t.Context(), &rpclabv1.UsageRequest{Pid: 1}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("usage without a token: %v", err)
	}
	p, err := agent.Attach(t.Context(), dial(t, guarded), agent.Target{Name: "caller-0", Token: "secret", Args: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	await(t, p)
	if p.Err() != nil {
		t.Errorf("with its token it ended with %v", p.Err())
	}
	client = rpclabv1.NewAgentClient(dial(t, idle))
	if _, err := client.Signal(t.Context(), &rpclabv1.SignalRequest{Pid: 1, Signal: 9}); status.Code(err) != codes.NotFound {
		t.Errorf("a signal to a process that is not the agent's: %v", err)
	}
	open, err := process.Start(process.Spec{Args: []string{testkit.Rpclab(t), "agent", "--listen", "0.0.0.0:0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Kill()
	await(t, open)
	if !strings.Contains(open.Log(), "--token-file") || !strings.Contains(open.Err().Error(), "status 2") {
		t.Errorf("open to others without a token it ended with %v: %s", open.Err(), open.Log())
	}
}

// greeter dials a server.
func greeter(t *testing.T, address string) rpclabv1.GreeterClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return rpclabv1.NewGreeterClient(conn)
}

func hello(t *testing.T, client rpclabv1.GreeterClient) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := client.SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Backend
}

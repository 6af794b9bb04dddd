package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result"
)

// The proof that latency counts from the moment a call was due. A server is stopped
// for 2 s in a run of 10 s at 500 calls/s. Three sources say how long calls took:
//
//   - what rpclab load reports,
//   - the schedule: call n is due at n/500 s, reaches the server at once, and has its
//     answer when it would have without the stop, or that long after the stop,
//   - the server's own clock: when it answered call n, less when that was due. This one
//     knows how long the server takes to work off the backlog, which depends on what
//     else the machine does.
const (
	proofRate  = 500
	proofRun   = 10 * time.Second
	proofStall = 2 * time.Second
	proofDelay = 50 * time.Millisecond // of every answer
	within     = 0.02
	busy       = 0.15 // what other work on the machine may add to the schedule's figures
)

func TestAnOpenLoopReportsAStallAsTheScheduleSaysIt(t *testing.T) {
	a, stop, answers := stalled(t, "--rate", "500")
	var schedule, clock []float64
	for n := range proofRate * int(proofRun/time.Second) {
		due := time.Duration(n) * time.Second / proofRate
		schedule = append(schedule, milliseconds(stop.answered(due)-due))
		clock = append(clock, milliseconds(answers[n].Sub(a.Trials[0].Started)-due))
	}
	if a.Calls != uint64(len(schedule)) {
		t.Errorf("%d calls, the schedule has %d", a.Calls, len(schedule))
	}
	slices.Sort(schedule)
	slices.Sort(clock)
	for _, p := range []struct {
		name  string
		share float64
		got   float64
	}{{"p50", 0.5, a.Latency.P50}, {"p90", 0.9, a.Latency.P90}, {"p99", 0.99, a.Latency.P99}, {"max", 1, a.Latency.Max}} {
		rank := int(math.Ceil(p.share*float64(len(schedule)))) - 1
		bySchedule, byClock := p.got/schedule[rank]-1, p.got/clock[rank]-1
		t.Logf("%s: %.1f ms reported, %.1f by the schedule (%+.2f %%), %.1f by the server's clock (%+.2f %%)",
			p.name, p.got, schedule[rank], 100*bySchedule, clock[rank], 100*byClock)
		if math.Abs(byClock) > within || math.Abs(bySchedule) > busy {
			t.Errorf("%s is not what it has to be", p.name)
		}
	}
}

// TestAClosedLoopHidesTheStall: it asks nothing while it waits. Each of 25 users meets
// the stall in one call of some 160.
func TestAClosedLoopHidesTheStall(t *testing.T) {
	const users = 25 // 500 calls/s, until it is stopped
	a, _, _ := stalled(t, "--concurrency", strconv.Itoa(users))
	values, err := a.Latency.Decode()
	if err != nil {
		t.Fatal(err)
	}
	met := int64(0)
	for _, bar := range values.Distribution() {
		if bar.From > int64(proofStall/2) {
			met += bar.Count
		}
	}
	t.Logf("p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, max %.1f ms; %d of %d calls met the stall",
		a.Latency.P50, a.Latency.P90, a.Latency.P99, a.Latency.Max, met, a.Calls)
	if met < 1 || met > users {
		t.Errorf("%d calls met the stall; each of %d users can once", met, users)
	}
	if a.Latency.P90 > milliseconds(proofStall/4) {
		t.Errorf("p90 is %.1f ms: it shows the stall", a.Latency.P90)
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// stop is a server's, since the start of a load; an answer takes service without it.
type stop struct{ from, to, service time.Duration }

// answered is when a call that is sent at a moment has its answer: one that reaches
// the stopped server waits for the end of the stop, and so does an answer due in it.
func (s stop) answered(sent time.Duration) time.Duration {
	switch done := sent + s.service; {
	case sent >= s.from && sent < s.to:
		return s.to + s.service
	case sent < s.from && done >= s.from:
		return max(done, s.to)
	default:
		return done
	}
}

// stalled runs a load against a server that is stopped for a while in its midst, and
// returns when that server answered each call.
func stalled(t *testing.T, pace ...string) (result.Arm, stop, map[int]time.Time) {
	t.Helper()
	server := startProofServer(t)
	args := append([]string{"--call", sayHello, "-d", `{"name": "{{.Number}}"}`}, pace...)
	undisturbed, _ := loaded(t, append(args, "--duration", "2s", server.address)...)

	c := command(t, t.TempDir(), append([]string{"load", "--json", "-", "--duration", proofRun.String()}, append(args, server.address)...)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	signalled := func(after time.Duration, s os.Signal) time.Time {
		<-time.After(after)
		at := time.Now()
		if err := server.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		return at
	}
	from := signalled(4*time.Second, syscall.SIGSTOP)
	to := signalled(proofStall, syscall.SIGCONT)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	a := read(t, &stdout).Arms[0]
	if len(a.Errors) > 0 || a.Dropped > 0 || a.Limited != "" {
		t.Fatalf("errors %v, %d dropped, limited: %s", a.Errors, a.Dropped, a.Limited)
	}
	began := a.Trials[0].Started
	service := time.Duration(undisturbed.Arms[0].Service.P50 * float64(time.Millisecond))
	return a, stop{from.Sub(began), to.Sub(began), service}, server.answers(t)
}

const proofServer = "RPCLAB_TEST_PROOF_SERVER"

// proof is a server in a process of its own that knows when it answered.
type proof struct {
	*exec.Cmd
	address string
	stdin   io.Closer
	said    *json.Decoder
}

func startProofServer(t *testing.T) *proof {
	t.Helper()
	p := &proof{Cmd: exec.Command(os.Args[0], "-test.run=^TestTheServerOfTheProof$")}
	p.Env = append(os.Environ(), proofServer+"=1")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, p.said = stdin, json.NewDecoder(stdout)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	if err := p.said.Decode(&p.address); err != nil {
		t.Fatalf("the server of the proof did not start: %v", err)
	}
	return p
}

// answers ends the server and is what it remembers.
func (p *proof) answers(t *testing.T) (all map[int]time.Time) {
	t.Helper()
	p.stdin.Close()
	if err := p.said.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTheServerOfTheProof is the other process of the proof when it is told so, and
// alone it tests nothing.
func TestTheServerOfTheProof(t *testing.T) {
	if os.Getenv(proofServer) == "" {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &remembering{answers: map[int]time.Time{}}
	s := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(s, g)
	reflection.Register(s)
	go func() { _ = s.Serve(listener) }()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the proof is done, or gone
	s.Stop()
	if err := out.Encode(g.answers); err != nil {
		t.Fatal(err)
	}
}

// remembering answers after a while and remembers when it answered which call last.
type remembering struct {
	rpclabv1.UnimplementedGreeterServer
	mu      sync.Mutex
	answers map[int]time.Time
}

func (r *remembering) SayHello(_ context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	<-time.After(proofDelay)
	number, err := strconv.Atoi(request.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[number] = time.Now()
	return &rpclabv1.HelloReply{}, err
}

package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/process/stdio"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	echo  = stdio.Method[string, string]("echo")
	count = stdio.Method[int, int]("count")
	load  = stdio.Method[stdio.None, stdio.None]("load")
)

// child is a process that runs [stdio.Conn.Serve] in a goroutine of the test.
type child struct {
	stdin  *io.PipeWriter
	stdout *io.PipeWriter
	conn   *stdio.Conn
	done   chan struct{}
	err    error
}

func (c *child) Kill() {
	_ = c.stdin.Close()
	_ = c.stdout.Close()
	<-c.done
}
func (c *child) Err() error  { return c.err }
func (c *child) Log() string { return "one\ntwo" }

// start starts a session that ends with the test.
func start(t *testing.T, onEvent func(json.RawMessage), handlers func(*stdio.Conn) stdio.Handler) (*stdio.Client, *child) {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	c := &child{stdin: stdin, stdout: out, conn: stdio.NewConn(in, out), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer out.Close()
		c.err = c.conn.Serve(t.Context(), handlers(c.conn))
		_ = in.Close()
	}()
	client := stdio.NewClient("child-0", c, stdin, stdout, onEvent)
	t.Cleanup(client.Kill)
	return client, c
}

// only returns the handler for a session without events.
func only(h stdio.Handler) func(*stdio.Conn) stdio.Handler {
	return func(*stdio.Conn) stdio.Handler { return h }
}

func TestConcurrentCallsReceiveTheirOwnResponses(t *testing.T) {
	client, _ := start(t, nil, only(count.Handle(func(_ context.Context, n int) (int, error) { return 2 * n, nil })))
	var calls sync.WaitGroup
	for n := range 20 {
		calls.Go(func() {
			if got, err := count.Call(t.Context(), client, n); err != nil || got != 2*n {
				t.Errorf("call %d returned %d, %v; want %d", n, got, err, 2*n)
			}
		})
	}
	calls.Wait()
}

func TestEventsArriveBeforeTheResponseThatFollowsThem(t *testing.T) {
	var events []string
	client, _ := start(t, func(e json.RawMessage) { events = append(events, string(e)) }, func(conn *stdio.Conn) stdio.Handler {
		return load.Handle(func(context.Context, stdio.None) (none stdio.None, err error) {
			return none, errors.Join(conn.Send(1), conn.Send(2))
		})
	})
	if _, err := load.Call(t.Context(), client, stdio.None{}); err != nil || !slices.Equal(events, []string{"1", "2"}) {
		t.Errorf("when the call returned %v the events were %v, want 1 and 2 and no error", err, events)
	}
}

func TestTheSessionContinuesAfterAHandlersError(t *testing.T) {
	client, _ := start(t, nil, only(load.Handle(func(context.Context, stdio.None) (none stdio.None, err error) {
		return none, errors.New("no such route")
	})))
	for range 2 {
		_, err := load.Call(t.Context(), client, stdio.None{})
		if remote := new(stdio.HandlerError); !errors.As(err, &remote) || err.Error() != "child-0: no such route" {
			t.Errorf("the call returned %v, want the handler's error, child-0: no such route", err)
		}
	}
}

func TestAnUnknownMethodAndWrongParametersAreErrors(t *testing.T) {
	client, _ := start(t, nil, only(count.Handle(func(_ context.Context, n int) (int, error) { return n, nil })))
	if _, err := echo.Call(t.Context(), client, "a"); err == nil || err.Error() != `child-0: no method "echo"` {
		t.Errorf("a method without a handler returned %v, want child-0: no method \"echo\"", err)
	}
	other := stdio.Method[string, int](count)
	if _, err := other.Call(t.Context(), client, "a"); err == nil || !strings.HasPrefix(err.Error(), "child-0: decode the parameters of count: ") {
		t.Errorf("parameters of another type returned %v, want a decoding error", err)
	}
}

func TestStopEndsTheSessionAfterTheResponse(t *testing.T) {
	client, process := start(t, nil, only(count.Handle(func(context.Context, int) (int, error) { return 7, stdio.Stop(nil) })))
	if got, err := count.Call(t.Context(), client, 0); err != nil || got != 7 {
		t.Errorf("the last call returned %d, %v; want 7", got, err)
	}
	<-process.done
	_, err := count.Call(t.Context(), client, 0)
	if exit := new(stdio.ExitError); !errors.As(err, &exit) {
		t.Errorf("a call after the session returned %v, want an ExitError", err)
	}
}

func TestCallsToAProcessThatEndsFailWithItsLastLines(t *testing.T) {
	unencodable := stdio.Method[stdio.None, chan int]("load")
	client, _ := start(t, nil, only(unencodable.Handle(func(context.Context, stdio.None) (chan int, error) { return make(chan int), nil })))
	_, err := load.Call(t.Context(), client, stdio.None{})
	if err == nil || !strings.HasPrefix(err.Error(), "child-0 ended unexpectedly: encode the response to load") || !strings.HasSuffix(err.Error(), "; its last lines:\n  one\n  two") {
		t.Errorf("the call returned %v, want that child-0 ended unexpectedly, with its last lines", err)
	}
}

func TestOutputThatIsNotJSONIsAnError(t *testing.T) {
	client, process := start(t, nil, only(echo.Handle(func(_ context.Context, text string) (string, error) { return text, nil })))
	if _, err := io.WriteString(process.stdout, "panic: boom\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := echo.Call(t.Context(), client, "a"); err == nil || !strings.Contains(err.Error(), "not the expected JSON") {
		t.Errorf("the call returned %v, want that the output is not the expected JSON", err)
	}
}

func TestACallAfterACancelledCallReceivesItsOwnResponse(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 2)
	client, _ := start(t, nil, only(count.Handle(func(_ context.Context, n int) (int, error) {
		began <- struct{}{}
		<-release
		return n, nil
	})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := count.Call(ctx, client, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call returned %v, want context.Canceled", err)
	}
	close(release)
	if got, err := count.Call(t.Context(), client, 2); err != nil || got != 2 {
		t.Errorf("the next call returned %d, %v; want 2", got, err)
	}
}

func TestTheHandlersContextEndsWithTheParent(t *testing.T) {
	began := make(chan struct{})
	client, process := start(t, nil, only(load.Handle(func(ctx context.Context, none stdio.None) (stdio.None, error) {
		close(began)
		<-ctx.Done()
		return none, ctx.Err()
	})))
	go func() { _, _ = load.Call(t.Context(), client, stdio.None{}) }()
	<-began
	_ = process.stdin.Close()
	<-process.done
}

func TestInputWithoutARequestIsAnError(t *testing.T) {
	for input, want := range map[string]string{"": "rpclab run", "{]": "read a request: "} {
		if err := stdio.NewConn(strings.NewReader(input), io.Discard).Serve(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %q: Serve returned %v, want %q", input, err, want)
		}
	}
}

func TestLinesPassesWholeLinesAndDropsLinesThatAreTooLong(t *testing.T) {
	var got []string
	lines := stdio.NewLines(func(line string) { got = append(got, line) })
	for _, part := range []string{"one\ntw", "o\n", strings.Repeat("x", stdio.MaxLine), "y\nthree\nfour"} {
		if n, err := io.WriteString(lines, part); n != len(part) || err != nil {
			t.Errorf("Write returned %d, %v; want %d", n, err, len(part))
		}
	}
	if !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("received the lines %q, want one, two, three", got)
	}
}

func TestAnnouncedReturnsTheAddressThatAnnounceWrote(t *testing.T) {
	var out strings.Builder
	if err := stdio.Announce(&out, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}); err != nil || out.String() != "serving 127.0.0.1:80\n" {
		t.Errorf("Announce wrote %q, %v; want serving 127.0.0.1:80", out.String(), err)
	}
	if address, ok := stdio.Announced("serving 127.0.0.1:80"); !ok || address != "127.0.0.1:80" {
		t.Errorf("Announced returned %q, %t; want 127.0.0.1:80", address, ok)
	}
	if _, ok := stdio.Announced("listening"); ok {
		t.Error("Announced accepted the line \"listening\"")
	}
}

// The stacks of a Go program that ran out of memory hide the line that says so.
func TestAnErrorNamesTheFatalLineOfGo(t *testing.T) {
	for log, want := range map[string]string{
		"fatal error: runtime: out of memory\n…\ngoroutine 7": "exit status 2, fatal error: runtime: out of memory; its last lines:\n",
		"started\npanic: no route\n\ngoroutine 1":             "exit status 2, panic: no route; its last lines:\n",
		"a fatal error: none of Go's":                         "exit status 2; its last lines:\n",
		"":                                                    "exit status 2",
	} {
		if got := (&stdio.ExitError{Name: "the caller", Cause: errors.New("exit status 2"), Log: log}).Reason(); !strings.HasPrefix(got, want) {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
}

func TestARequestInProgressCanBeFinished(t *testing.T) {
	started := make(chan struct{})
	client, _ := start(t, func(json.RawMessage) { started <- struct{}{} }, func(conn *stdio.Conn) stdio.Handler {
		return count.Handle(func(whole context.Context, n int) (int, error) {
			ctx, cancel := stdio.UntilFinished(whole)
			defer cancel()
			if err := conn.Send(n); err != nil || n == 0 {
				return n, err
			}
			<-ctx.Done()
			return n, whole.Err() // what a handler starts may outlive its request
		})
	})
	for _, n := range []int{1, 0, 2} { // the second is not finished, and the third not by an earlier message
		response := make(chan error, 1)
		go func() {
			got, err := count.Call(t.Context(), client, n)
			if err == nil && got != n {
				err = fmt.Errorf("the response is %d", got)
			}
			response <- err
		}()
		<-started
		if n > 0 {
			select {
			case err := <-response:
				t.Errorf("request %d ended before it was finished: %v", n, err)
			default:
			}
			if err := client.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-response; err != nil {
			t.Errorf("request %d: %v", n, err)
		}
	}
	if err := client.Finish(); err != nil { // nothing is in progress
		t.Fatal(err)
	}
}

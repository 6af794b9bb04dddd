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

// child is a process that runs Serve in a goroutine of the test.
type child struct {
	stdin  *io.PipeWriter
	stdout *io.PipeWriter
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

// start starts a conversation that ends with the test.
func start(t *testing.T, onEvent func(json.RawMessage), newHandler func(*stdio.Conn) stdio.Handler) (*stdio.Client, *child) {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	c := &child{stdin: stdin, stdout: out, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer out.Close()
		c.err = stdio.Serve(t.Context(), in, out, newHandler)
		_ = in.Close()
	}()
	client := stdio.NewClient("child-0", c, stdin, stdout, onEvent)
	t.Cleanup(client.Kill)
	return client, c
}

// handle is a handler without events.
func handle(h stdio.Handler) func(*stdio.Conn) stdio.Handler {
	return func(*stdio.Conn) stdio.Handler { return h }
}

func TestCallsGetTheirOwnAnswers(t *testing.T) {
	client, _ := start(t, nil, handle(func(_ context.Context, method string, params json.RawMessage) (any, error) {
		return method + string(params), nil
	}))
	var calls sync.WaitGroup
	for n := range 20 {
		calls.Go(func() {
			var got string
			if err := client.Call(t.Context(), "echo", n, &got); err != nil || got != fmt.Sprintf("echo%d", n) {
				t.Errorf("call %d: %q, %v", n, got, err)
			}
		})
	}
	calls.Wait()
}

func TestEventsArriveBeforeTheAnswerThatFollowsThem(t *testing.T) {
	var events []string
	client, _ := start(t, func(e json.RawMessage) { events = append(events, string(e)) }, func(conn *stdio.Conn) stdio.Handler {
		return func(context.Context, string, json.RawMessage) (any, error) {
			return nil, errors.Join(conn.Send(1), conn.Send(2))
		}
	})
	if err := client.Call(t.Context(), "load", nil, nil); err != nil || !slices.Equal(events, []string{"1", "2"}) {
		t.Errorf("events %v, %v", events, err)
	}
}

func TestAnErrorIsAnAnswerAndTheConversationContinues(t *testing.T) {
	client, _ := start(t, nil, handle(func(context.Context, string, json.RawMessage) (any, error) { return nil, errors.New("no such route") }))
	for range 2 {
		err := client.Call(t.Context(), "open", nil, nil)
		if remote := new(stdio.HandlerError); !errors.As(err, &remote) || err.Error() != "child-0: no such route" {
			t.Errorf("error %v", err)
		}
	}
}

func TestStopEndsTheConversationAfterTheAnswer(t *testing.T) {
	client, process := start(t, nil, handle(func(context.Context, string, json.RawMessage) (any, error) { return 7, stdio.Stop(nil) }))
	var got int
	if err := client.Call(t.Context(), "close", nil, &got); err != nil || got != 7 {
		t.Errorf("%d, %v", got, err)
	}
	<-process.done
	err := client.Call(t.Context(), "close", nil, nil)
	if exit := new(stdio.ExitError); !errors.As(err, &exit) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestAProcessThatEndsFailsItsCallsWithItsLastLines(t *testing.T) {
	client, _ := start(t, nil, handle(func(context.Context, string, json.RawMessage) (any, error) {
		return make(chan int), nil // cannot be encoded
	}))
	err := client.Call(t.Context(), "load", nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "child-0 ended unexpectedly: encode the answer to load") || !strings.HasSuffix(err.Error(), "; its last lines:\n  one\n  two") {
		t.Errorf("error %v", err)
	}
}

func TestOutputThatIsNotJSONIsNamed(t *testing.T) {
	client, process := start(t, nil, handle(func(context.Context, string, json.RawMessage) (any, error) { return nil, nil }))
	if _, err := io.WriteString(process.stdout, "panic: boom\n"); err != nil {
		t.Fatal(err)
	}
	if err := client.Call(t.Context(), "load", nil, nil); err == nil || !strings.Contains(err.Error(), "not the expected JSON") {
		t.Errorf("error %v", err)
	}
}

func TestACallThatIsCancelledLeavesOthersTheirAnswers(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 2)
	client, _ := start(t, nil, handle(func(_ context.Context, _ string, params json.RawMessage) (any, error) {
		began <- struct{}{}
		<-release
		return params, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if err := client.Call(ctx, "wait", 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(release)
	var got int
	if err := client.Call(t.Context(), "wait", 2, &got); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
}

func TestTheHandlersContextEndsWithItsParent(t *testing.T) {
	began := make(chan struct{})
	client, process := start(t, nil, handle(func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	go func() { _ = client.Call(t.Context(), "load", nil, nil) }()
	<-began
	_ = process.stdin.Close()
	<-process.done
}

func TestLinesArePassedOnWhole(t *testing.T) {
	var got []string
	lines := stdio.NewLines(func(line string) { got = append(got, line) })
	for _, part := range []string{"one\ntw", "o\n", strings.Repeat("x", stdio.MaxLine), "y\nthree\nfour"} {
		if n, err := io.WriteString(lines, part); n != len(part) || err != nil {
			t.Errorf("wrote %d of %d, %v", n, len(part), err)
		}
	}
	if !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("lines %q", got)
	}
}

func TestAnAnnouncementNamesTheAddress(t *testing.T) {
	var out strings.Builder
	if err := stdio.Announce(&out, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}); err != nil || out.String() != "serving 127.0.0.1:80\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if address, ok := stdio.Announced("serving 127.0.0.1:80"); !ok || address != "127.0.0.1:80" {
		t.Errorf("%q, %t", address, ok)
	}
	if _, ok := stdio.Announced("listening"); ok {
		t.Error("another line is an announcement")
	}
}

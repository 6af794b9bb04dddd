package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServeMakesTheCallsOfItsInput(t *testing.T) {
	var out bytes.Buffer
	err := serve(strings.NewReader(`{"target": "127.0.0.1:1", "call": "get", "timeout_ns": 1000000000}`+"\n0\n1\n2\n3\n4\n5\n"), &out, func(job Job) (Func, error) {
		if want := (Job{Target: "127.0.0.1:1", Call: "get", Timeout: time.Second}); job != want {
			t.Errorf("the job is %+v, want %+v", job, want)
		}
		return func(ctx context.Context, n uint64) error {
			AnsweredBy(ctx, "b1")
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the context has no deadline")
			}
			return []error{nil, status.Error(codes.Unavailable, "away"), errors.New("wrong"), context.DeadlineExceeded,
				fmt.Errorf("call 4: %w", Error("TOO_FEW", "2 items")), Error("OK", "no failure")}[n]
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 7 || lines[0] != `{"ready": true}` {
		t.Fatalf("it wrote %q, want that it is ready and 6 outcomes", lines)
	}
	got := map[uint64]outcome{}
	for _, line := range lines[1:] {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Sent == 0 || o.Done < o.Sent || o.Backend != "b1" {
			t.Errorf("the outcome %s (error %v)", line, err)
		}
		got[o.Call] = o
	}
	for n, want := range []any{0.0, 14.0, 2.0, 4.0, "TOO_FEW", 2.0} { // JSON has no other numbers
		if o := got[uint64(n)]; o.Code != want || (n == 0) != (o.Message == "") {
			t.Errorf("call %d: %+v, want the code %v", n, o, want)
		}
	}
}

func TestServeFailsWithoutAJob(t *testing.T) {
	for input, want := range map[string]string{"": "rpclab starts this program", "x\n": "the job: ", "{}\nx\n": "the number of a call: "} {
		err := serve(strings.NewReader(input), &bytes.Buffer{}, func(Job) (Func, error) { return nil, nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %q: error %v, want %q", input, err, want)
		}
	}
}

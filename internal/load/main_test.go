package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/workload"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == SelfTestCommand { // this program as its own test server
		if err := ServeSelfTest(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// greeter serves the workloads until the test ends.
func greeter(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := &workload.Server{ID: "one", Log: slog.New(slog.DiscardHandler)}
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// watchedGreeter calls a function at its first call.
type watchedGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	first func()
}

func (g *watchedGreeter) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	g.first()
	return &rpclabv1.HelloReply{}, nil
}

// A load of an address makes its first call within 0.1 s (decision 41). A process that it starts before takes most of
// that, so it starts the server of its self-test after the load.
func TestALoadStartsNoProcessBeforeItsCalls(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var load atomic.Int64 // the process
	children := "not called"
	started := make(chan struct{})
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, &watchedGreeter{first: sync.OnceFunc(func() {
		<-started
		children = ""
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", load.Load())) // the pattern is valid
		for _, of := range threads {
			text, _ := os.ReadFile(of) // a thread that has ended has no children
			children += string(text)
		}
		if len(threads) == 0 {
			children = "not known"
		}
	})})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	c := command(t, t.TempDir(), "load", "--call", sayHello, "--calls", "5", "--concurrency", "1", listener.Addr().String())
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	load.Store(int64(c.Process.Pid))
	close(started)
	err = c.Wait()
	server.Stop()
	if err != nil || children != "" || !strings.Contains(out.String(), "ceiling") {
		t.Errorf("at the first call, the processes that the load had started were %q, want none; error %v, the report is\n%s", children, err, &out)
	}
}

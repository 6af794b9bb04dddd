package route_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// mostOpenFiles is the largest number of open files of any child process.
func mostOpenFiles() (most int) {
	for _, id := range process.Tree(os.Getpid()) {
		if id == os.Getpid() {
			continue
		}
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", id)) // none if the process has exited
		most = max(most, len(files))
	}
	return most
}

// A run that rpclab accepts must not fail for want of files.
func TestProxiesOpenAtMostTheFilesThatTheirRouteAnnounces(t *testing.T) {
	const channels, calls, backends, workers, spare = 40, 600, 3, 2, 64
	for _, name := range []string{"forwarder", "envoy", "haproxy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			r, err := route.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			g := servers(t, 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond)
			o := settings.Settings{Proxy: settings.Proxy{Workers: workers}}
			infrastructure := g.startInfrastructure(r, o)
			var conns []*grpc.ClientConn
			for range channels {
				target, err := r.Open(t.Context(), infrastructure.ServiceFor(0), o, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(target.Close)
				conns = append(conns, g.channel(target))
			}
			most := mostOpenFiles()
			var calling sync.WaitGroup
			for i := range calls {
				calling.Go(func() { _, _ = greet(t.Context(), conns[i%channels]) }) // a call that times out has opened its files, too
			}
			done := make(chan struct{})
			go func() { calling.Wait(); close(done) }()
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-tick.C:
					most = max(most, mostOpenFiles())
					continue
				case <-done:
					tick.Stop()
				}
				break
			}
			limit, purpose := r.OpenFilesFor(route.Demand{Channels: channels, Calls: calls, Backends: backends, Workers: workers})
			if most > limit+spare {
				t.Errorf("a process had %d files open; OpenFilesFor returns %d (%s), and %d are spare", most, limit, purpose, spare)
			}
			t.Logf("%d files of %d", most, limit+spare)
		})
	}
}

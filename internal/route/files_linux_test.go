package route_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"rpclab/internal/measure"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// open is how many files the descendant of this process has open that has most of them.
func open() (most int) {
	for _, id := range measure.ProcessTree(os.Getpid()) {
		if id == os.Getpid() {
			continue
		}
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", id)) // of one that is gone, none
		most = max(most, len(files))
	}
	return most
}

// What a run is refused for has to be enough, or its calls would fail for want of files.
func TestNoProxyOpensMoreFilesThanItsRouteSays(t *testing.T) {
	const channels, calls, backends, workers, spare = 40, 600, 3, 2, 64
	for _, name := range []string{"forwarder", "envoy", "haproxy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			r, err := route.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			g := servers(t, 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond)
			o := settings.Settings{Proxy: settings.Proxy{Workers: workers}}
			standing := g.stand(r, o)
			var all []*grpc.ClientConn
			for range channels {
				target, err := r.Open(t.Context(), standing.ServiceFor(0), o, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(target.Close)
				all = append(all, g.channel(target))
			}
			most := open()
			var calling sync.WaitGroup
			for i := range calls {
				calling.Go(func() { _, _ = greet(t.Context(), all[i%channels]) }) // one that is late on a busy machine had its files
			}
			done := make(chan struct{})
			go func() { calling.Wait(); close(done) }()
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-tick.C:
					most = max(most, open())
					continue
				case <-done:
					tick.Stop()
				}
				break
			}
			says, what := r.OpenFilesFor(route.Demand{Channels: channels, Calls: calls, Backends: backends, Workers: workers})
			if most > says+spare {
				t.Errorf("a process had %d files open, the route says %d (%s) and %d are spare", most, says, what, spare)
			}
			t.Logf("%d files of %d", most, says+spare)
		})
	}
}

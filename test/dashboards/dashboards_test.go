package dashboards

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"rpclab/internal/testkit"
)

func TestEveryPanelHasDataOfARun(t *testing.T) {
	l := up(t)
	w := watch(t, l.dir, free(t))
	// A rate needs a sample of the counter before the calls.
	l.first(t)
	w.await(t, answered, l, few)
	l.study(t)

	t.Run("the counts are those of the calls, exactly", func(t *testing.T) {
		for _, counter := range []string{answered, received, served} {
			w.await(t, counter, l, few+many)
		}
	})
	for _, name := range []string{"study.json", "balancing.json"} {
		b := readBoard(t, name)
		t.Run(name, func(t *testing.T) {
			variables := w.variables(t, b)
			for _, p := range b.Flat() {
				for _, q := range p.Targets {
					t.Run(p.Title, func(t *testing.T) { w.see(t, q, variables, l.modes()) })
				}
			}
		})
	}
	t.Run("the balance index is 1 where calls are spread, and 1/3 where one of three servers got all", func(t *testing.T) {
		for _, s := range w.now(t, w.find(t, "balancing.json", "Since the start")) {
			switch mode := s.label("mode"); mode {
			case "clusterip", "forwarder": // one connection, which stays at one of three servers
				if math.Abs(s.value-1./3) > 1e-9 {
					t.Errorf("Jain's index of %s is %v, want 1/3", mode, s.value)
				}
			default:
				if s.value < 0.99 {
					t.Errorf("Jain's index of %s is %v, want about 1", mode, s.value)
				}
			}
		}
	})
	t.Run("a reset begins at 0", func(t *testing.T) {
		l.reset(t)
		l.first(t)
		w.await(t, answered, l, few)
		w.await(t, received, l, few+many+few) // the metrics of the client grow on
	})
	t.Run("the balance index is 1 where a server that got as many calls as the others has left", func(t *testing.T) {
		running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(w, `grpc_requests_total{mode="left",server_name="a"} 9`+"\n"+`grpc_requests_total{mode="left",server_name="b"} 9`+"\n")
		}))
		defer running.Close()
		at := []string{running.Listener.Addr().String()}
		l.write(t, append(l.read(t), group{at, map[string]string{"job": "gateway", "mode": "left"}}, group{at, map[string]string{"job": "server", "mode": "left"}}))
		var index float64
		testkit.AwaitFor(t, countWithin, "the balance of two servers, one of which runs", func() bool {
			all := w.now(t, w.find(t, "balancing.json", "Since the start"))
			i := slices.IndexFunc(all, func(s sample) bool { return s.label("mode") == "left" })
			if i >= 0 {
				index = all[i].value
			}
			return i >= 0
		})
		if math.Abs(index-1) > 1e-9 {
			t.Errorf("Jain's index is %v, want 1", index)
		}
	})
	t.Run("a failed call is seen with its code", func(t *testing.T) {
		at := l.unreachable(t)
		testkit.AwaitFor(t, countWithin, "failures of the gateway without servers", func() bool {
			sh(t, "curl --silent 'http://%s/increment'", at)
			return slices.ContainsFunc(w.lately(t, w.find(t, "balancing.json", "Failed calls per second")), func(s sample) bool {
				return s.label("mode") == "unreachable" && s.label("grpc_code") == "Unavailable" && s.value > 0
			})
		})
	})
}

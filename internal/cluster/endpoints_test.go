package cluster

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func backend(id string) Endpoint {
	return Endpoint{ID: id, Addr: netip.MustParseAddrPort("127.0.1.1:50051"), Serving: true}
}

func ids(endpoints []Endpoint) []string {
	var all []string
	for _, e := range endpoints {
		all = append(all, e.ID)
	}
	return all
}

func TestReadyIsServingAndNotTerminating(t *testing.T) {
	for _, serving := range []bool{false, true} {
		for _, terminating := range []bool{false, true} {
			e := Endpoint{Serving: serving, Terminating: terminating}
			if want := serving && !terminating; e.Ready() != want {
				t.Errorf("%+v is ready: %v, want %v", e, e.Ready(), want)
			}
		}
	}
}

func TestOnlyAChangeIncrementsTheVersion(t *testing.T) {
	set := NewEndpoints()
	terminating := backend("b")
	terminating.Terminating = true
	for _, step := range []struct {
		name    string
		change  func()
		version uint64
		all     []string
		ready   []string
	}{
		{"at first", func() {}, 0, nil, nil},
		{"added", func() { set.Set(backend("b")) }, 1, []string{"b"}, []string{"b"}},
		{"added with a smaller ID", func() { set.Set(backend("a")) }, 2, []string{"a", "b"}, []string{"a", "b"}},
		{"set to an equal endpoint", func() { set.Set(backend("a")) }, 2, []string{"a", "b"}, []string{"a", "b"}},
		{"terminating", func() { set.Set(terminating) }, 3, []string{"a", "b"}, []string{"a"}},
		{"removed", func() { set.Remove("b") }, 4, []string{"a"}, []string{"a"}},
		{"removed again", func() { set.Remove("b") }, 4, []string{"a"}, []string{"a"}},
	} {
		_, changed := set.Current()
		before, _ := set.Current()
		step.change()
		now, _ := set.Current()
		if now.Version != step.version || !slices.Equal(ids(now.Endpoints), step.all) || !slices.Equal(ids(now.Ready()), step.ready) {
			t.Errorf("%s: version %d, %v, ready %v; want %d, %v, %v", step.name,
				now.Version, ids(now.Endpoints), ids(now.Ready()), step.version, step.all, step.ready)
		}
		notified := false
		select {
		case <-changed:
			notified = true
		default:
		}
		if want := now.Version != before.Version; notified != want {
			t.Errorf("%s: watchers were notified: %v, want %v", step.name, notified, want)
		}
	}
}

func TestASnapshotIsImmutable(t *testing.T) {
	set := NewEndpoints()
	set.Set(backend("a"))
	old, _ := set.Current()
	set.Set(backend("b"))
	set.Remove("a")
	if !slices.Equal(ids(old.Endpoints), []string{"a"}) {
		t.Errorf("the old snapshot now has %v, want a", ids(old.Endpoints))
	}
}

// A watcher receives growing versions and the last version.
func TestAWatcherReceivesTheLatestVersion(t *testing.T) {
	const last = 100
	set := NewEndpoints()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watchers sync.WaitGroup
	for range 4 {
		watchers.Go(func() {
			var seen uint64
			first := true
			watching, stop := context.WithCancel(ctx)
			defer stop()
			set.Watch(watching, func(s Snapshot) {
				if !first && s.Version <= seen {
					t.Errorf("a watcher received version %d after %d", s.Version, seen)
				}
				first, seen = false, s.Version
				if seen == last {
					stop()
				}
			})
		})
	}
	for i := range last {
		if e := backend("a"); i%2 == 0 {
			set.Set(e)
		} else {
			set.Remove(e.ID)
		}
	}
	watchers.Wait()
}

package publish

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rpclab/internal/cluster"
)

// show prints changes as "ADDED greeter-1@3 a b", with endpoints that are not ready in
// parentheses.
func show(changes []change) []string {
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s@%s", c.kind, c.slice.Name, c.slice.ResourceVersion)
		for _, e := range c.slice.Endpoints {
			id := e.TargetRef.Name
			if !*e.Conditions.Ready {
				id = "(" + id + ")"
			}
			line += " " + id
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSlicesChangeAsWithTheController(t *testing.T) {
	a, b, c, d, e := ready("a", 0), ready("b", 1), ready("c", 2), ready("d", 3), ready("e", 4)
	terminating := b
	terminating.Terminating = true
	other := d
	other.Addr = netip.MustParseAddrPort("127.0.1.4:50052")
	moved := a
	moved.Addr = netip.MustParseAddrPort("[::1]:50051")
	set := func(es ...cluster.Endpoint) []cluster.Endpoint { return es }

	for _, test := range []struct {
		name   string
		before [][]cluster.Endpoint
		now    []cluster.Endpoint
		want   []string
	}{
		{"no endpoints: one empty slice", nil, nil, []string{"ADDED greeter-1@1"}},
		{"the empty slice is filled first", [][]cluster.Endpoint{{}}, set(a, b), []string{"MODIFIED greeter-1@2 a b"}},
		{"endpoints that do not fit are in a new slice", nil, set(a, b, c), []string{"ADDED greeter-1@1 a b", "ADDED greeter-2@2 c"}},
		{"no change, no event", [][]cluster.Endpoint{set(a, b, c)}, set(a, b, c), nil},
		{"a removal touches one slice", [][]cluster.Endpoint{set(a, b, c, d)}, set(a, c, d), []string{"MODIFIED greeter-1@3 a"}},
		{"a new endpoint replaces a removed one", [][]cluster.Endpoint{set(a, b, c)}, set(b, c, d), []string{"MODIFIED greeter-1@3 b d"}},
		{"a new endpoint fills a slice with room", [][]cluster.Endpoint{set(a, b, c)}, set(a, b, c, d), []string{"MODIFIED greeter-2@3 c d"}},
		{"a slice that becomes empty is deleted", [][]cluster.Endpoint{set(a, b, c)}, set(a, b), []string{"DELETED greeter-2@3 c"}},
		{"the last slice stays, empty", [][]cluster.Endpoint{set(a, b, c)}, nil, []string{"MODIFIED greeter-1@3", "DELETED greeter-2@4 c"}},
		{"a terminating endpoint stays, not ready", [][]cluster.Endpoint{set(a, b)}, set(a, terminating), []string{"MODIFIED greeter-1@2 a (b)"}},
		{"another port is another slice", [][]cluster.Endpoint{set(a)}, set(a, other), []string{"ADDED greeter-2@2 d"}},
		{"an endpoint that changes family moves", [][]cluster.Endpoint{set(a, b)}, set(moved, b), []string{"ADDED greeter-2@2 a", "MODIFIED greeter-1@3 b"}},
		{"full slices are added before room is filled", [][]cluster.Endpoint{set(a)}, set(a, b, c, d), []string{"ADDED greeter-2@2 b c", "MODIFIED greeter-1@3 a d"}},
		{"an empty family is replaced", [][]cluster.Endpoint{{}}, set(other), []string{"ADDED greeter-2@2 d", "DELETED greeter-1@3"}},
		{"a rollout keeps the slices", [][]cluster.Endpoint{set(a, b, c)}, set(d, e), []string{"MODIFIED greeter-1@3 d e", "DELETED greeter-2@4 c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := sliceSet{names: greeter, limit: 2}
			for _, s := range test.before {
				at, _ = at.apply(snapshot(1, s...))
			}
			_, changes := at.apply(snapshot(2, test.now...))
			if diff := cmp.Diff(test.want, show(changes)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
		})
	}
}

// After any changes, the slices have every endpoint once and no slice exceeds the limit. A replay
// of the events leads to the same slices. An endpoint that stays keeps its slice.
func TestSlicesAreConsistentAfterAnyChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := sliceSet{names: greeter, limit: rapid.IntRange(1, 5).Draw(t, "limit")}
		replayed := map[string][]string{}
		for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
			var now []cluster.Endpoint
			for i := range 12 {
				if e := ready(fmt.Sprintf("b%02d", i), i); rapid.Bool().Draw(t, "exists") {
					e.Terminating = rapid.Bool().Draw(t, "terminating")
					now = append(now, e)
				}
			}
			before := where(at)
			next, changes := at.apply(snapshot(uint64(step), now...))
			last := at.version
			for _, c := range changes {
				if c.version != last+1 || c.slice.ResourceVersion != strconv.FormatUint(c.version, 10) {
					t.Fatalf("version %d follows %d, want versions that grow by one", c.version, last)
				}
				last = c.version
				if c.kind == "DELETED" {
					delete(replayed, c.slice.Name)
					continue
				}
				replayed[c.slice.Name] = ids(c)
			}
			after := where(next)
			if len(after) != len(now) {
				t.Fatalf("the slices have %d endpoints, want %d", len(after), len(now))
			}
			for _, e := range now {
				if was, ok := before[e.ID]; ok && after[e.ID] != was {
					t.Fatalf("%s moved from %s to %s", e.ID, was, after[e.ID])
				}
			}
			held := map[string][]string{}
			for _, s := range next.slices {
				if len(s.Endpoints) > at.limit || len(s.Endpoints) == 0 && len(next.slices) > 1 {
					t.Fatalf("slice %s has %d endpoints, want 1 to %d", s.Name, len(s.Endpoints), at.limit)
				}
				held[s.Name] = ids(change{slice: s})
			}
			if diff := cmp.Diff(held, replayed); diff != "" {
				t.Fatalf("slices and replayed events differ (-slices +replayed):\n%s", diff)
			}
			at = next
		}
	})
}

func ids(c change) []string {
	all := []string{}
	for _, e := range c.slice.Endpoints {
		all = append(all, fmt.Sprint(e.TargetRef.Name, *e.Conditions.Ready))
	}
	return all
}

// where maps each endpoint to the names of its slices.
func where(b sliceSet) map[string]string {
	in := map[string]string{}
	for _, s := range b.slices {
		for _, e := range s.Endpoints {
			in[e.TargetRef.Name] += s.Name + " "
		}
	}
	return in
}

func TestSlicesHaveAtMost100Endpoints(t *testing.T) {
	h := newHistory(greeter, historySize)
	h.put(snapshot(1, many(250)...))
	all, _ := h.now()
	var sizes []int
	for _, s := range all {
		sizes = append(sizes, len(s.Endpoints))
	}
	if want := []int{100, 100, 50}; !slices.Equal(sizes, want) {
		t.Errorf("the slices have %v endpoints, want %v", sizes, want)
	}
}

func TestOnlyADNSLabelIsAHostname(t *testing.T) {
	b := sliceSet{names: greeter, limit: 1}
	for id, want := range map[string]bool{"greeter-1": true, "Greeter 1": false, strings.Repeat("x", 64): false} {
		if got := b.names.endpoint(ready(id, 0)).Hostname != nil; got != want {
			t.Errorf("the endpoint %q has a hostname: %v, want %v", id, got, want)
		}
	}
}

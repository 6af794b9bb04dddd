package publish

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"

	"rpclab/internal/cluster"
)

// sliceLimit is how many endpoints a slice holds at most: the default of the
// EndpointSlice controller's --max-endpoints-per-slice.
const sliceLimit = 100

// sliceSet is the slices of the service at one resource version. It is immutable: apply
// returns another.
type sliceSet struct {
	names   Names
	limit   int
	version uint64 // of the newest change; one sequence for all slices, as in the API server
	made    int    // number of slices so far, which names the next
	slices  []discovery.EndpointSlice
}

// change is one event of a watch. The slice carries the version of the change.
type change struct {
	kind    watch.EventType
	version uint64
	slice   discovery.EndpointSlice
}

// draft is a slice while apply changes it.
type draft struct {
	slice   discovery.EndpointSlice
	before  []discovery.Endpoint // the previous endpoints
	fresh   bool
	touched bool
}

// apply updates the slices to a snapshot and changes as few slices as the EndpointSlice
// controller does. An endpoint stays in its slice. New endpoints go to slices that change
// anyway, then to one slice with room for all that are left, else to a new slice. An empty
// slice is deleted unless it is the last. Creations come first, deletions last.
func (b sliceSet) apply(s cluster.Snapshot) (sliceSet, []change) {
	drafts, left := b.keep(s.Endpoints)
	for _, f := range slices.SortedFunc(maps.Keys(left), func(x, y family) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.port, y.port))
	}) {
		drafts = b.place(drafts, f, left[f])
	}
	if len(drafts) == 0 { // a service without endpoints has one empty slice
		drafts = b.place(drafts, family{discovery.AddressTypeIPv4, int32(b.names.Port)}, nil)
	}
	return b.commit(drafts, s.At)
}

// keep leaves every endpoint in its slice and returns those without a slice.
func (b sliceSet) keep(endpoints []cluster.Endpoint) ([]*draft, map[family][]discovery.Endpoint) {
	wanted := map[string]cluster.Endpoint{}
	for _, e := range endpoints {
		wanted[e.ID] = e
	}
	var drafts []*draft
	for _, old := range b.slices {
		d := &draft{slice: old, before: old.Endpoints}
		d.slice.Endpoints = nil
		for _, previous := range old.Endpoints {
			e, ok := wanted[previous.TargetRef.Name]
			if !ok || familyOf(e) != familyIn(old) {
				d.touched = true
				continue
			}
			delete(wanted, e.ID)
			present := b.names.endpoint(e)
			d.touched = d.touched || !equality.Semantic.DeepEqual(present, previous)
			d.slice.Endpoints = append(d.slice.Endpoints, present)
		}
		drafts = append(drafts, d)
	}
	left := map[family][]discovery.Endpoint{}
	for _, e := range endpoints {
		if _, ok := wanted[e.ID]; ok {
			left[familyOf(e)] = append(left[familyOf(e)], b.names.endpoint(e))
		}
	}
	return drafts, left
}

// place adds the endpoints of one family to the drafts.
func (b sliceSet) place(drafts []*draft, shared family, left []discovery.Endpoint) []*draft {
	add := func(d *draft) {
		n := min(b.limit-len(d.slice.Endpoints), len(left))
		if n > 0 {
			d.slice.Endpoints, d.touched = append(d.slice.Endpoints, left[:n]...), true
			left = left[n:]
		}
	}
	// Filling the fullest first leaves the fewest slices.
	fullest := slices.SortedStableFunc(slices.Values(drafts), func(x, y *draft) int {
		return cmp.Compare(len(y.slice.Endpoints), len(x.slice.Endpoints))
	})
	fullest = slices.DeleteFunc(fullest, func(d *draft) bool { return familyIn(d.slice) != shared })
	for _, d := range fullest {
		if d.touched || len(d.slice.Endpoints) == 0 {
			add(d)
		}
	}
	fill := func() {
		d := &draft{slice: discovery.EndpointSlice{AddressType: shared.kind, Ports: ports(shared.port)}, fresh: true}
		add(d)
		drafts = append(drafts, d)
	}
	for len(left) >= b.limit {
		fill()
	}
	for _, d := range fullest {
		if len(d.slice.Endpoints)+len(left) <= b.limit {
			add(d)
		}
	}
	if len(left) > 0 || len(drafts) == 0 {
		fill()
	}
	return drafts
}

// commit turns drafts into the next slices and the events that lead to them.
func (b sliceSet) commit(drafts []*draft, at time.Time) (sliceSet, []change) {
	next := b
	next.slices = nil
	var created, modified, deleted []*draft
	filled := slices.ContainsFunc(drafts, func(d *draft) bool { return len(d.slice.Endpoints) > 0 })
	for i, d := range drafts {
		switch empty := len(d.slice.Endpoints) == 0; {
		case empty && (filled || i > 0):
			deleted = append(deleted, d)
		case d.fresh:
			created = append(created, d)
		case d.touched:
			modified = append(modified, d)
		}
	}
	var changes []change
	record := func(kind watch.EventType, d *draft) {
		next.version++
		d.slice.ResourceVersion = strconv.FormatUint(next.version, 10)
		changes = append(changes, change{kind, next.version, d.slice})
	}
	for _, d := range created {
		next.made++
		d.slice.ObjectMeta = b.names.meta(next.made, at)
		record(watch.Added, d)
	}
	for _, d := range modified {
		d.slice.Generation++
		d.slice.Annotations = triggered(at)
		record(watch.Modified, d)
	}
	for _, d := range deleted {
		// "The state of the object immediately before deletion": metav1.WatchEvent.
		d.slice.Endpoints = d.before
		record(watch.Deleted, d)
	}
	for _, d := range drafts {
		if !slices.Contains(deleted, d) {
			next.slices = append(next.slices, d.slice)
		}
	}
	return next, changes
}

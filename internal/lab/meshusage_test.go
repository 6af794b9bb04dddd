package lab

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
)

// meshed is a cluster with a mesh. Each reading returns the next usage of its proxies.
type meshed struct {
	cluster.Cluster
	readings []map[string]cluster.Usage
}

func (m *meshed) ProxyUsage(context.Context, string) (map[string]cluster.Usage, error) {
	if len(m.readings) == 0 {
		return nil, errors.New("nodes/proxy is forbidden")
	}
	first := m.readings[0]
	m.readings = m.readings[1:]
	return first, nil
}

func TestTheUsageOfMeshProxiesIsTheDifferenceOfTwoReadings(t *testing.T) {
	used := func(cpu time.Duration, memory uint64) cluster.Usage {
		return cluster.Usage{CPU: cpu * time.Second, MaxRSS: memory}
	}
	type reading = map[string]cluster.Usage
	for name, test := range map[string]struct {
		before, after reading
		events        bool
		unknown       string
	}{
		"a pod of the trial before has ended": {reading{"kept": used(10, 200), "gone": used(3, 50)}, reading{"kept": used(12, 100), "new": used(1, 30)}, false, ""},
		"an event has ended a pod":            {reading{"kept": used(10, 200), "gone": used(3, 50)}, reading{"kept": used(12, 100)}, true, "pod gone has ended"},
		"a proxy has started again":           {reading{"kept": used(10, 200)}, reading{"kept": used(1, 200)}, false, "that of pod kept has started again"},
	} {
		c := &meshed{readings: []map[string]cluster.Usage{test.before, test.after}}
		want := cluster.Usage{CPU: 3 * time.Second, MaxRSS: 230}
		if test.unknown != "" {
			want, test.unknown = cluster.Usage{}, "the usage of the proxies of linkerd is not known: "+test.unknown
		}
		if all, unknown := recordMeshUsage(t.Context(), c, "linkerd", false, test.events)(); all.CPU != want.CPU || all.MaxRSS != want.MaxRSS || unknown != test.unknown {
			t.Errorf("%s: %+v, unknown: %q; want %+v and %q", name, all, unknown, want, test.unknown)
		}
	}
	if recordMeshUsage(t.Context(), &meshed{}, "", false, false) != nil {
		t.Error("a route without a mesh records the usage of proxies")
	}
}

func TestUnknownMeshUsageHasAReason(t *testing.T) {
	_, unknown := recordMeshUsage(t.Context(), &meshed{}, "istio", false, false)()
	if want := "the usage of the proxies of istio is not known: nodes/proxy is forbidden"; unknown != want {
		t.Errorf("%q, want %q", unknown, want)
	}
}

// TestBlocksDoNotWaitForKubelets uses a cluster without readings, which would fail.
func TestBlocksDoNotWaitForKubelets(t *testing.T) {
	_, unknown := recordMeshUsage(t.Context(), &meshed{}, "istio", true, false)()
	if !strings.HasSuffix(unknown, "use --set design=isolated") {
		t.Errorf("%q, want what to do", unknown)
	}
}

// unmeasured is a deployment whose usage is not known.
type unmeasured struct{ cluster.Deployment }

// existing is a deployment that rpclab did not start.
type existing struct{ cluster.Deployment }

func (unmeasured) WhyUsageUnknown() string { return "no permission" }

func TestWhatIsNotKnownIsListedWithItsReasons(t *testing.T) {
	for servers, want := range map[cluster.Deployment]string{unmeasured{}: "no permission", existing{}: ""} {
		if why := whyUsageUnknown(servers); why != want {
			t.Errorf("%T: %q, want %q", servers, why, want)
		}
	}
	if all := alsoUnknown(alsoUnknown("", "backends: a"), "usage: b"); all != "backends: a; usage: b" {
		t.Errorf("%q", all)
	}
}

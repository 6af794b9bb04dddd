package measure

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestProcessorTimesAreParsed(t *testing.T) {
	p := parseStat("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	want := ProcessorTimes{Busy: 1630 * time.Millisecond, Idle: 40500 * time.Millisecond, Interrupts: 130 * time.Millisecond, Stolen: 80 * time.Millisecond}
	if p != want {
		t.Errorf("the processor times are %+v, want %+v", p, want)
	}
	if p := parseStat("cpu 0 0 0 9300000000 0 0 0 0\n"); p.Idle != 93_000_000*time.Second { // 64 processors for 17 days
		t.Errorf("9,300,000,000 idle ticks are %v, want 93,000,000 s", p.Idle)
	}
	for text, want := range map[string]time.Duration{
		"usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n": 1500 * time.Microsecond, // version 2
		"nr_periods 9\nnr_throttled 2\nthrottled_time 1500\n": 1500,                    // version 1
		"usage_usec 5\n": 0,
		"":               0,
	} {
		if got := parseThrottled(text); got != want {
			t.Errorf("%q says throttled for %s, want %s", text, got, want)
		}
	}
}

// The root of the hierarchy is included: in a container it is the container's own group with its
// quota.
func TestControlGroupsOfBothVersionsAreFound(t *testing.T) {
	for text, want := range map[string][]string{
		"0::/user.slice/a.scope\n": {"/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"},
		"0::/\n":                   {"/sys/fs/cgroup"},
		"0::/../b.scope\n":         nil, // outside of the mounted hierarchy
		"4:memory:/x\n2:cpu,cpuacct:/y\n1:cpuset:/z\n": {"/sys/fs/cgroup/cpu,cpuacct/y", "/sys/fs/cgroup/cpu,cpuacct"},
		"": nil,
	} {
		if got := cgroupsOf("cpu", text); !slices.Equal(got, want) {
			t.Errorf("%q: the groups are %q, want %q", text, got, want)
		}
	}
}

func TestCPUTimeCountsAsBusy(t *testing.T) {
	before := ReadProcessorTimes()
	used := func() time.Duration {
		cpu, err := CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return cpu
	}
	for began := used(); used() < began+100*time.Millisecond; { // CPU time, which on a busy machine takes longer
	}
	if busy := ReadProcessorTimes().Since(before).Busy; busy < 50*time.Millisecond {
		t.Errorf("100 ms of CPU time made processors busy for %s, want at least 50 ms", busy)
	}
}

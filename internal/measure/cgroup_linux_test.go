package measure

import (
	"slices"
	"testing"
)

func TestOOMKillsOfBothCgroupVersionsAreParsed(t *testing.T) {
	for text, want := range map[string]uint64{
		"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n": 2, // version 2
		"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n":                4, // version 1
		"oom_kill_disable 0\nunder_oom 0\n":                            0, // an old kernel does not count kills
		"":                                                             0,
	} {
		if got := parseOOMKills(text); got != want {
			t.Errorf("%q has %d kills, want %d", text, got, want)
		}
	}
	want := []string{"/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory"}
	if got := cgroupsOf("memory", "4:memory:/x\n2:cpu,cpuacct:/y\n"); !slices.Equal(got, want) {
		t.Errorf("the memory groups are %q, want %q", got, want)
	}
}

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// runIn prepares a run of the small experiment over a route, with its own directory for temporary files.
func runIn(t *testing.T, temporary, route string, args ...string) *exec.Cmd {
	t.Helper()
	data := t.TempDir()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(small, "route: direct", "route: "+route, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	c := command(t, data, append([]string{"run", file}, args...)...)
	c.Env = append(c.Env, "TMPDIR="+temporary)
	return c
}

// holdTempDir starts a long run over a forwarder, and returns the temporary directory of the forwarder.
func holdTempDir(t *testing.T, temporary string) (*exec.Cmd, string) {
	t.Helper()
	known := tempDirs(temporary)
	c := runIn(t, temporary, "forwarder", "--set", "load={open: {rate: 1, duration: 10m}}")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	var own []string
	testkit.Await(t, "the run has a temporary directory", func() bool {
		own = slices.DeleteFunc(tempDirs(temporary), func(dir string) bool { return slices.Contains(known, dir) })
		return len(own) == 1
	})
	return c, own[0]
}

func tempDirs(temporary string) []string {
	all, _ := filepath.Glob(filepath.Join(temporary, "rpclab-run-*")) // the pattern is valid
	return all
}

func TestARunRemovesTheTemporaryDirectoriesOfKilledRunsOnly(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	killed, left := holdTempDir(t, temporary)
	_, kept := holdTempDir(t, temporary)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the killed run removed its directory: %v", err)
	}
	s, err := ran(runIn(t, temporary, "direct"))
	if err != nil || s.code != 0 {
		t.Fatalf("%v, exit code %d\n%s", err, s.code, s.stderr)
	}
	if all := tempDirs(temporary); !slices.Equal(all, []string{kept}) {
		t.Errorf("after the next run there are %v, want %s of the run in progress only", all, kept)
	}
}

// The keys of the streams study would stay in a directory of another name.
func TestKilledLabsLeaveTheirKeysWhereTheNextRunRemovesThem(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	lab := command(t, t.TempDir(), "lab", "up", "streams", "--port", strconv.Itoa(unusedPorts(t, 1)))
	lab.Env = append(lab.Env, "TMPDIR="+temporary)
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Process.Kill(); _ = lab.Wait() })
	keys := func(pattern string) int {
		all, _ := filepath.Glob(filepath.Join(temporary, pattern, "keys.json")) // the pattern is valid
		return len(all)
	}
	testkit.Await(t, "the lab has written its keys", func() bool { return keys("*") == 1 })
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lab.Wait()
	if keys("rpclab-run-*") != 1 {
		t.Error("the keys are not in a directory that the next run removes")
	}
}

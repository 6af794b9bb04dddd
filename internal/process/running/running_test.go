package running_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/process/running"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine returns a machine on which nothing runs.
func machine(t *testing.T) (m running.Machine, cache string) {
	t.Helper()
	cache = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	m, err := running.Open()
	if err != nil {
		t.Fatal(err)
	}
	return m, cache
}

func enter(t *testing.T, m running.Machine, command string, wait func([]running.Run)) *running.Entry {
	t.Helper()
	entry, err := m.Enter(t.Context(), command, wait)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func commands(runs []running.Run) string {
	var all []string
	for _, run := range runs {
		all = append(all, run.Command)
	}
	return strings.Join(all, ", ")
}

func TestASecondRunWaitsUntilTheFirstLeaves(t *testing.T) {
	m, _ := machine(t)
	first := enter(t, m, "rpclab run one", nil)
	waited := ""
	second := enter(t, m, "rpclab run two", func(others []running.Run) {
		waited += commands(others)
		if others[0].PID != os.Getpid() || !strings.HasPrefix(others[0].String(), "rpclab run one (process ") {
			t.Errorf("it waits for %v, want rpclab run one of this process", others)
		}
		first.Leave()
	})
	defer second.Leave()
	if waited != "rpclab run one" || len(second.Others()) != 0 {
		t.Errorf("it waited for %q, and then shared the machine with %v; want that it waited for the first and then was alone", waited, second.Others())
	}
}

func TestRunsThatShareKnowOfEachOther(t *testing.T) {
	m, _ := machine(t)
	first, second := enter(t, m, "rpclab run one", nil), enter(t, m, "rpclab run two", nil)
	defer first.Leave()
	if one, two := commands(first.Others()), commands(second.Others()); one != "rpclab run two" || two != "rpclab run one" {
		t.Errorf("the first shares with %q, the second with %q", one, two)
	}
	second.Leave()
	if others := first.Others(); len(others) != 0 {
		t.Errorf("after the second left, the first shares with %v", others)
	}
}

func TestAWaitingRunCanBeInterrupted(t *testing.T) {
	m, _ := machine(t)
	defer enter(t, m, "rpclab run one", nil).Leave()
	ctx, cancel := context.WithCancel(t.Context())
	entry, err := m.Enter(ctx, "rpclab run two", func([]running.Run) { cancel() })
	if !errors.Is(err, context.Canceled) || entry != nil {
		t.Errorf("Enter returned %v, %v; want %v", entry, err, context.Canceled)
	}
}

// A process that was killed leaves its file without a lock.
func TestTheFileOfAKilledRunIsRemoved(t *testing.T) {
	m, cache := machine(t)
	enter(t, m, "rpclab run one", nil).Leave()
	dirs, err := filepath.Glob(filepath.Join(cache, "rpclab", "running", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the directories of machines are %q, %v; want one", dirs, err)
	}
	left := filepath.Join(dirs[0], "left.json")
	if err := os.WriteFile(left, []byte(`{"pid": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	defer enter(t, m, "rpclab run two", func(others []running.Run) { t.Errorf("it waits for %v", others) }).Leave()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}

func TestARunThatIsNotEnteredIsAlone(t *testing.T) {
	var none *running.Entry
	if none.Leave(); none.Others() != nil {
		t.Error("it has others")
	}
}

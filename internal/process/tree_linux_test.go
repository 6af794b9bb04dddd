package process_test

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

// startSessions starts a command whose child and grandchild have left its process group, as process managers start
// servers. It returns their ids.
func startSessions(t *testing.T, hasChildren bool) (*process.Process, []int) {
	t.Helper()
	const child = `setsid sh -c 'echo $$; exec sleep 600' & echo $$; wait`
	out, in := io.Pipe()
	t.Cleanup(func() { _ = in.Close() })
	command, err := process.Start(process.Spec{
		Args: []string{"sh", "-c", `setsid sh -c "$0" & read -r _; exit 0`, child}, Stdout: in, HasChildren: hasChildren,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(command.Kill)
	ids := readIDs(t, out, 2)
	t.Cleanup(func() {
		for _, id := range ids {
			_ = syscall.Kill(id, syscall.SIGKILL) // they remain only if the test fails
		}
	})
	return command, ids
}

func TestSignalsReachDescendantsInSessionsOfTheirOwn(t *testing.T) {
	command, ids := startSessions(t, false)
	for _, step := range []struct {
		do    func() error
		state string
	}{{command.Suspend, "T"}, {command.Resume, "S"}, {command.Suspend, "T"}} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for _, id := range append([]int{command.Pid()}, ids...) {
			testkit.Await(t, fmt.Sprintf("process %d is in the state %s", id, step.state), func() bool {
				out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
				return strings.HasPrefix(string(out), step.state)
			})
		}
	}
	command.Kill()
	awaitEnded(t, ids)
}

func TestDescendantsEndWithACommandThatExitsFirst(t *testing.T) {
	for name, end := range map[string]func(*process.Process){
		"at SIGTERM": func(p *process.Process) { p.Stop(time.Minute) },
		"by itself": func(p *process.Process) {
			_ = p.Stdin.Close()
			<-p.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			command, ids := startSessions(t, name == "at SIGTERM")
			end(command)
			awaitEnded(t, ids)
		})
	}
}

// A command that leaves a daemon and exits is not a server: its daemon must not stay.
func TestADaemonEndsWithTheCommandThatLeftIt(t *testing.T) {
	for _, hasChildren := range []bool{false, true} {
		out, in := io.Pipe()
		command, err := process.Start(process.Spec{Args: []string{"sh", "-c", workerAndDaemon + "exit 0"}, Stdout: in, HasChildren: hasChildren})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(command.Kill)
		ids := readIDs(t, out, 3)
		<-command.Done()
		awaitEnded(t, ids)
	}
}

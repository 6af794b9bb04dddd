package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST") {
	case "parent":
		runParent()
		return
	case "dir":
		holdTempDir()
		return
	case "files":
		startUntilError()
		return
	}
	goleak.VerifyTestMain(m)
}

// startUntilError starts children until one cannot be started.
func startUntilError() {
	for {
		child, err := process.Start(process.Spec{Args: []string{"sleep", "60"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer child.Kill()
	}
}

func TestAProcessThatCannotOpenFilesSaysHowToMendThat(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, err := process.Run(t.Context(), process.Spec{Args: []string{"sh", "-c", `ulimit -n 32; exec "$0"`, self}, Env: []string{"PROCESS_TEST=files"}})
	if want := "too many open files: raise the limit of open files (ulimit -Hn, or LimitNOFILE= of a service)"; err != nil || !strings.Contains(said, want) {
		t.Errorf("got %v, %q; want %q", err, said, want)
	}
}

// workerAndDaemon is a script that starts a worker and a daemon, which leaves its session and its parent, and prints
// its own id and theirs.
const workerAndDaemon = `daemon=$(setsid sleep 600 >/dev/null & echo $!); sleep 600 & echo $$ $! $daemon; `

// runParent starts a child that starts a worker and a daemon.
func runParent() {
	p, err := process.Start(process.Spec{Args: []string{"sh", "-c", workerAndDaemon + "wait"}, Stdout: os.Stdout, HasChildren: true})
	if err == nil {
		<-p.Done()
	}
}

// startParent runs this test's program as a parent and returns the ids of its child, the child's worker and its daemon.
func startParent(t *testing.T) (*exec.Cmd, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), "PROCESS_TEST=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ids := readIDs(t, out, 3)
	t.Cleanup(func() {
		_ = parent.Process.Kill()
		_ = parent.Wait() // it was killed
		for _, id := range ids {
			_ = syscall.Kill(id, syscall.SIGKILL) // they remain only if the test fails
		}
	})
	if runtime.GOOS != "linux" {
		return parent, ids[:2] // only Linux tells whose daemon a process is
	}
	return parent, ids
}

// readIDs reads n ids that a command prints.
func readIDs(t *testing.T, out io.Reader, n int) []int {
	t.Helper()
	ids := make([]int, n)
	for i := range ids {
		if _, err := fmt.Fscan(out, &ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func TestAChildAndWhatItStartsEndWhenTheParentIsKilled(t *testing.T) {
	parent, ids := startParent(t)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnded(t, ids)
}

func TestWhatAChildStartedEndsWhenItIsKilled(t *testing.T) {
	_, ids := startParent(t)
	if err := syscall.Kill(ids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnded(t, ids)
}

func awaitEnded(t *testing.T, ids []int) {
	t.Helper()
	for _, id := range ids {
		testkit.Await(t, fmt.Sprintf("process %d has ended", id), func() bool { return hasEnded(id) })
	}
}

func TestTheGuardOfWorkersDoesNotKeepPipesOpen(t *testing.T) {
	child, err := process.Start(process.Spec{Args: []string{"true"}, HasChildren: true})
	if err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	if err := child.Err(); err != nil { // exec.ErrWaitDelay: its pipes were still open
		t.Errorf("the child ended with %v, want no error", err)
	}
}

// hasEnded reports whether a process has ended. A process that nobody waits for is a zombie (Z).
func hasEnded(id int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}

func start(t *testing.T, script string, stdout io.Writer) *process.Process {
	t.Helper()
	child, err := process.Start(process.Spec{Args: []string{"sh", "-c", script}, Stdout: stdout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(child.Kill)
	return child
}

func TestTheLogKeepsTheLastLines(t *testing.T) {
	child := start(t, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo last words >&2; exit 3", nil)
	<-child.Done()
	var exit *exec.ExitError
	if !errors.As(child.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("the child ended with %v, want exit code 3", child.Err())
	}
	log := child.Log()
	if !strings.HasPrefix(log, "line ") || !strings.HasSuffix(log, "last words") || len(log) > 4<<10 {
		t.Errorf("the log has %d bytes, starts with %.20q and ends with %q; want at most 4 KiB from a whole line to the last words",
			len(log), log, log[max(0, len(log)-20):])
	}
}

func TestStopSendsSIGTERMAndThenKills(t *testing.T) {
	p := start(t, "echo ready; sleep 60 & wait", nil)
	p.Stop(time.Minute)
	if !strings.Contains(p.Err().Error(), "terminated") {
		t.Errorf("a child that does not handle SIGTERM ended with %v, want terminated", p.Err())
	}
	out, in := io.Pipe()
	ignoring := start(t, `trap "" TERM; echo ready; while :; do sleep 1; done`, in)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ignoring.Stop(50 * time.Millisecond)
	if !strings.Contains(ignoring.Err().Error(), "killed") {
		t.Errorf("a child that ignores SIGTERM ended with %v, want killed", ignoring.Err())
	}
}

func TestAPausedProcessCanBeKilled(t *testing.T) {
	child := start(t, "sleep 60", nil)
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	child.Kill()
	if err := child.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that has ended returned %v, want no error", err)
	}
}

func TestAChildWithoutInputReadsTheEndAtOnce(t *testing.T) {
	var out strings.Builder
	child, err := process.Start(process.Spec{Args: []string{"sh", "-c", "cat; pwd; echo done"}, Dir: "/", Stdout: &out, HasChildren: true, NoInput: true})
	if err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	if out.String() != "/\ndone\n" {
		t.Errorf("the child wrote %q, want its directory / and done", &out)
	}
}

func TestSuspendReachesWorkers(t *testing.T) {
	out, in := io.Pipe()
	child, err := process.Start(process.Spec{Args: []string{"sh", "-c", "sleep 60 & echo $!; wait"}, Stdout: in, HasChildren: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(child.Kill)
	var worker int
	if _, err := fmt.Fscan(out, &worker); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		do    func() error
		state string
	}{{child.Suspend, "T"}, {child.Resume, "S"}} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []int{child.Pid(), worker} {
			testkit.Await(t, fmt.Sprintf("process %d is in the state %s", id, step.state), func() bool {
				out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
				return strings.HasPrefix(string(out), step.state)
			})
		}
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	if _, err := process.Start(process.Spec{Args: []string{"/no/such/program"}}); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("starting /no/such/program returned %v, want an error that names it", err)
	}
}

func TestChildrenInheritTheRaisedFileLimit(t *testing.T) {
	limit, err := process.RaiseFileLimit()
	if err != nil || limit < 256 {
		t.Fatalf("the limit of open files is %d, %v; want at least 256", limit, err)
	}
	var out strings.Builder
	p := start(t, "[ $(ulimit -Sn) = $(ulimit -Hn) ] && echo same", &out)
	<-p.Done()
	if out.String() != "same\n" {
		t.Error("a child's soft limit of open files differs from its hard limit, want the same")
	}
}

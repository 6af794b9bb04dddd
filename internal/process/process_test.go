package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	case "lab":
		lab()
		return
	case "dir":
		holdDir()
		return
	}
	goleak.VerifyTestMain(m)
}

// lab starts a child with a worker, which writes both their ids.
func lab() {
	p, err := process.Start(process.Spec{Args: []string{"sh", "-c", "sleep 60 & echo $$ $!; wait"}, Stdout: os.Stdout, HasChildren: true})
	if err == nil {
		<-p.Done()
	}
}

// startLab runs this test's program as a lab and returns the ids of the processes below.
func startLab(t *testing.T) (*process.Process, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	p, err := process.Start(process.Spec{Args: []string{self}, Env: []string{"PROCESS_TEST=lab"}, Stdout: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ids := make([]int, 2)
	if _, err := fmt.Fscan(out, &ids[0], &ids[1]); err != nil {
		t.Fatal(err)
	}
	return p, ids
}

func TestWorkersOfAChildEndWhenTheLabIsKilled(t *testing.T) {
	p, ids := startLab(t)
	p.Kill()
	for _, id := range ids {
		testkit.Await(t, fmt.Sprintf("process %d is gone", id), func() bool { return gone(id) })
	}
}

func TestWorkersEndWithTheirMaster(t *testing.T) {
	_, ids := startLab(t)
	if err := syscall.Kill(ids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the worker is gone", func() bool { return gone(ids[1]) })
}

func TestTheGuardOfWorkersDoesNotHoldUpTheEnd(t *testing.T) {
	p, err := process.Start(process.Spec{Args: []string{"true"}, HasChildren: true})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.Err(); err != nil { // exec.ErrWaitDelay: its pipes were still open
		t.Errorf("it ended with %v", err)
	}
}

// gone says whether a process has ended; one that nobody waits for is a zombie.
func gone(id int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}

func start(t *testing.T, script string, stdout io.Writer) *process.Process {
	t.Helper()
	p, err := process.Start(process.Spec{Args: []string{"sh", "-c", script}, Stdout: stdout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestTheEndOfALogIsKept(t *testing.T) {
	p := start(t, "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo last words >&2; exit 3", nil)
	<-p.Done()
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("it ended with %v", p.Err())
	}
	log := p.Log()
	if !strings.HasPrefix(log, "line ") || !strings.HasSuffix(log, "last words") || len(log) > 4<<10 {
		t.Errorf("the log has %d bytes, begins %.20q, ends %q", len(log), log, log[max(0, len(log)-20):])
	}
}

func TestStopAsksAndThenKills(t *testing.T) {
	p := start(t, "echo ready; sleep 60 & wait", nil)
	p.Stop(time.Minute)
	if !strings.Contains(p.Err().Error(), "terminated") {
		t.Errorf("one that listens ended with %v", p.Err())
	}
	out, in := io.Pipe()
	deaf := start(t, `trap "" TERM; echo ready; while :; do sleep 1; done`, in)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	deaf.Stop(50 * time.Millisecond)
	if !strings.Contains(deaf.Err().Error(), "killed") {
		t.Errorf("one that does not listen ended with %v", deaf.Err())
	}
}

func TestAStoppedProcessCanBeKilled(t *testing.T) {
	p := start(t, "sleep 60", nil)
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that is gone: %v", err)
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	if _, err := process.Start(process.Spec{Args: []string{"/no/such/program"}}); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
}

func TestChildrenMayOpenAsManyFiles(t *testing.T) {
	limit, err := process.RaiseFileLimit()
	if err != nil || limit < 256 {
		t.Fatalf("%d, %v", limit, err)
	}
	var out strings.Builder
	p := start(t, "[ $(ulimit -Sn) = $(ulimit -Hn) ] && echo same", &out)
	<-p.Done()
	if out.String() != "same\n" {
		t.Error("a child's soft limit is not the hard one")
	}
}

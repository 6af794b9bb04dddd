package process_test

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	p.Stop(10 * time.Second)
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
	limit, err := process.MaxFiles()
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

package own

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

func TestNothingThatAClientStartedIsLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	job := script(`setsid sh -c 'echo $$ >"$FILE"; exec sleep 600' >/dev/null 2>&1 &
while ! [ -s "$FILE" ]; do :; done
` + ready + `cat`)
	job.Command.Env = []string{"FILE=" + file}
	session, err := Caller{}.Open(job, target)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(left, syscall.SIGKILL) })
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	// A zombie, which process 1 has not reaped yet, uses no memory.
	testkit.Await(t, "what the client started has ended", func() bool { return measure.TreeRSS(left) == 0 })
}

package agent_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/agent"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

// An agent that is stopped measures the program until the program exits, as in a pod whose server drains.
func TestAnAgentMeasuresAProgramThatItDidNotStart(t *testing.T) {
	other, err := process.Start(process.Spec{Args: []string{"sh", "-c", "while :; do :; done"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Kill)
	agentProcess, address := startAgent(t, []string{"--observe", strconv.Itoa(other.Pid())})
	meter := agent.NewMeter(dial(t, address), agent.Target{Name: "orders-0"})
	uses := func(atLeast time.Duration) {
		t.Helper()
		testkit.Await(t, "the program has used "+atLeast.String()+" of CPU time", func() bool {
			used, err := meter.Usage(t.Context())
			return err == nil && used.CPU >= atLeast && used.MaxRSS > 1<<18
		})
	}
	uses(50 * time.Millisecond)
	if err := other.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := meter.ResetUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used, err := meter.Usage(t.Context()); err != nil || used.CPU > 20*time.Millisecond || used.MaxRSS == 0 {
		t.Errorf("a suspended program used %+v after the reset, error %v", used, err)
	}
	if err := other.Resume(); err != nil {
		t.Fatal(err)
	}
	uses(50 * time.Millisecond)
	if err := agentProcess.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	uses(100 * time.Millisecond)
	other.Kill()
	awaitExit(t, agentProcess)
}

// In a process namespace of its own the agent is process 1, and would measure itself.
func TestAnAgentDoesNotMeasureItself(t *testing.T) {
	agentProcess, err := process.Start(process.Spec{Args: []string{"sh", "-c", `exec "$0" agent --listen 127.0.0.1:0 --observe $$`, testkit.Rpclab(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agentProcess.Kill)
	awaitExit(t, agentProcess)
	if want := "does not share a process namespace with the program"; agentProcess.Err() == nil || !strings.Contains(agentProcess.Log(), want) {
		t.Errorf("the agent ended with %v and %q, want %q", agentProcess.Err(), agentProcess.Log(), want)
	}
}

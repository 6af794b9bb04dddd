package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// TestKubectlFindsThePlugin starts the program by kubectl.
func TestKubectlFindsThePlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(testkit.Rpclab(t), filepath.Join(dir, "kubectl-rpclab")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"run", "--help"}, 0, "  kubectl rpclab run NAME|FILE [flags]"},
		{[]string{"run", "channels", "--quick", "--image", "rpclab:none", "--rounds", "0"}, 2, "--rounds 0"},
		{[]string{"clean", "--older-than", "100h"}, 0, "nothing to remove"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(clusterDir(t), "kubectl"), append([]string{"rpclab"}, c.args...)...)
		command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, _ := command.CombinedOutput()
		if code := command.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("kubectl rpclab %s: exit code %d, want %d and %q:\n%s", strings.Join(c.args, " "), code, c.code, c.says, out)
		}
	}
}

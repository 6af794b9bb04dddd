package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// TestKubectlPluginNamesItself starts the program as kubectl does: under the name kubectl-rpclab.
func TestKubectlPluginNamesItself(t *testing.T) {
	t.Parallel()
	plugin := filepath.Join(t.TempDir(), "kubectl-rpclab")
	if err := os.Symlink(testkit.Rpclab(t), plugin); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--help"}, 0, []string{"  kubectl rpclab [command]", "  kubectl rpclab list "}},
		{[]string{"run", "--help"}, 0, []string{"  kubectl rpclab run NAME|FILE [flags]", "\n  kubectl rpclab run channels --quick\n", `(default "kubernetes")`, "'kubectl rpclab list'"}},
		{[]string{"rum"}, 2, []string{"See 'kubectl rpclab --help'"}},
		{[]string{"run", "channels", "--nosuch"}, 2, []string{"See 'kubectl rpclab run --help'"}},
		{[]string{"run", "channels", "--quick", "--kubeconfig", "nosuch"}, 2, []string{"nosuch"}},
	} {
		command := command(t, t.TempDir(), c.args...)
		command.Path = plugin
		command.Args[0] = plugin
		s, err := ran(command)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if s.code != c.code || !strings.Contains(s.stdout+s.stderr, want) {
				t.Errorf("kubectl rpclab %s: exit code %d, want %d and %q:\n%s%s", strings.Join(c.args, " "), s.code, c.code, want, s.stdout, s.stderr)
			}
		}
	}
}

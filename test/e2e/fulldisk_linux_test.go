package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// Who removes runs may do so because the disk is full. That needs root, to mount a small file system.
func TestRunsAreRemovedOnAFullDisk(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 30)
	for _, c := range []struct{ args, left string }{
		{"run-03", "29"},  // which moves free pages
		{"--keep 2", "2"}, // which would write a new file
	} {
		const onFullDisk = `mount -t tmpfs -o size=2m tmpfs "$0" && cp runs.db "$0" && ! cat /dev/zero >"$0/filler" 2>/dev/null || exit 9
export RPCLAB_DATA_DIR="$0"
"$1" runs rm $2 >&2 && "$1" runs | grep -c '^run-'`
		shell := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", onFullDisk, t.TempDir(), testkit.Rpclab(t), c.args)
		shell.Dir, shell.Env = data, append(os.Environ(), "RPCLAB_DATA_DIR="+data)
		var said strings.Builder
		shell.Stderr = &said
		left, err := shell.Output()
		if got := strings.TrimSpace(string(left)); err != nil || got != c.left {
			t.Errorf("runs rm %s: %v, and %s runs are left, want %s:\n%s", c.args, err, got, c.left, &said)
		}
	}
}

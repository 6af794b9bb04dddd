package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTheProgramImportsNoPackageThatTakesLongToCompile for little: docs/decisions/0044-size.md.
func TestTheProgramImportsNoPackageThatTakesLongToCompile(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "rpclab/cmd/rpclab").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "gonum.org/v1/gonum/mathext") {
		t.Error("go list does not list what the program imports")
	}
	for _, long := range []string{"gonum.org/v1/gonum/lapack/gonum", "github.com/vishvananda/netlink", "k8s.io/client-go/kubernetes"} {
		if slices.Contains(all, long) {
			t.Errorf("the program imports %s", long)
		}
	}
}

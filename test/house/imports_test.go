package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTheProgramImportsNoCostlyPackage, which takes long to compile or makes the program much larger:
// docs/decisions/0044-size.md.
func TestTheProgramImportsNoCostlyPackage(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "rpclab/cmd/rpclab").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, "gonum.org/v1/gonum/mathext") {
		t.Error("go list does not list what the program imports")
	}
	for _, costly := range []string{"gonum.org/v1/gonum/lapack/gonum", "github.com/vishvananda/netlink", "k8s.io/client-go/kubernetes", "github.com/golang-jwt/jwt/v5"} {
		if slices.Contains(all, costly) {
			t.Errorf("the program imports %s", costly)
		}
	}
}

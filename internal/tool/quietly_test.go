package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asked is what a policy says of the start of a service.
func asked(t *testing.T, policy string) int {
	t.Helper()
	c := exec.Command("/bin/sh", policy, "nginx", "start")
	var ended *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

func TestNoServiceStartsWhileAPackageIsInstalled(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	failed := errors.New("the line broke")
	for _, ends := range []error{nil, failed} {
		err := quietly(policy, func() error {
			if code := asked(t, policy); code != 101 {
				t.Errorf("the policy ends with %d, want 101: forbidden", code)
			}
			if info, err := os.Stat(policy); err != nil || info.Mode().Perm()&0o111 == 0 {
				t.Errorf("nobody can run it: %v, %v", info, err)
			}
			return ends
		})
		if !errors.Is(err, ends) {
			t.Errorf("error %v, want %v", err, ends)
		}
		if _, err := os.Stat(policy); !os.IsNotExist(err) {
			t.Errorf("the policy is left: %v", err)
		}
	}
}

func TestWhatAnAdministratorSaysOfServicesStays(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	program(t, policy, "exit 104")
	before, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	done := false
	if err := quietly(policy, func() error { done = true; return nil }); err != nil || !done {
		t.Errorf("%v, %v", done, err)
	}
	if after, err := os.ReadFile(policy); err != nil || string(after) != string(before) {
		t.Errorf("it is now %q, %v", after, err)
	}
}

// An installation that was killed forbids nothing, and is no administrator.
func TestThePolicyOfADeadInstallationHoldsNoLonger(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	var living []byte
	if err := quietly(policy, func() (err error) { living, err = os.ReadFile(policy); return err }); err != nil {
		t.Fatal(err)
	}
	dead := strings.ReplaceAll(string(living), fmt.Sprintf("kill -0 %d", os.Getpid()), "kill -0 999999999") // which no process is
	if err := os.WriteFile(policy, []byte(dead), 0o755); err != nil {
		t.Fatal(err)
	}
	if code := asked(t, policy); code != 0 {
		t.Errorf("it ends with %d, want 0: allowed", code)
	}
	if err := quietly(policy, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(policy); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}

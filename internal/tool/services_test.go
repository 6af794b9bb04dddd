package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// policyCode is the exit code of a policy when a package wants to start a service.
func policyCode(t *testing.T, policy string) int {
	t.Helper()
	command := exec.Command("/bin/sh", policy, "nginx", "start")
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode()
}

func TestWithoutServicesForbidsToStartServices(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	failed := errors.New("the connection broke")
	for _, want := range []error{nil, failed} {
		err := withoutServices(policy, func() error {
			if code := policyCode(t, policy); code != 101 {
				t.Errorf("the policy exits with %d, want 101: forbidden", code)
			}
			if info, err := os.Stat(policy); err != nil || info.Mode().Perm()&0o111 == 0 {
				t.Errorf("the policy is %v (error %v), want it executable", info, err)
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if _, err := os.Stat(policy); !os.IsNotExist(err) {
			t.Errorf("the policy still exists (error %v), want it removed", err)
		}
	}
}

func TestWithoutServicesKeepsTheAdministratorsPolicy(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	program(t, policy, "exit 104")
	before, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	installed := false
	if err := withoutServices(policy, func() error { installed = true; return nil }); err != nil || !installed {
		t.Errorf("install was called: %v, error %v; want true and none", installed, err)
	}
	if after, err := os.ReadFile(policy); err != nil || string(after) != string(before) {
		t.Errorf("the policy is %q (error %v), want %q", after, err, before)
	}
}

// The policy of an installation that was killed allows services, and is replaced.
func TestPolicyOfAKilledInstallationHasNoEffect(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	var live []byte
	if err := withoutServices(policy, func() (err error) { live, err = os.ReadFile(policy); return err }); err != nil {
		t.Fatal(err)
	}
	dead := strings.ReplaceAll(string(live), fmt.Sprintf("kill -0 %d", os.Getpid()), "kill -0 999999999") // no process has this id
	if err := os.WriteFile(policy, []byte(dead), 0o755); err != nil {
		t.Fatal(err)
	}
	if code := policyCode(t, policy); code != 0 {
		t.Errorf("the policy exits with %d, want 0: allowed", code)
	}
	if err := withoutServices(policy, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(policy); !os.IsNotExist(err) {
		t.Errorf("the policy still exists (error %v), want it removed", err)
	}
}

// An interrupted dpkg would leave a half-installed package, whose service starts when the user repairs it.
func TestInterruptCompletesAnInstallationThatHasBegun(t *testing.T) {
	isolate(t)
	bin, dir := os.Getenv("PATH"), t.TempDir()
	policy := filepath.Join(dir, "policy-rc.d")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	program(t, filepath.Join(bin, "systemctl"), "exit 0")
	program(t, filepath.Join(bin, "apt-get"), `case "$*" in update*|*--download-only*) exit 0;; esac
cd `+dir+`; touch began; sleep 1; cp policy-rc.d ended`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	installed := make(chan error)
	go func() { installed <- installPackages(ctx, policy, nil, []string{"nginx"}, []string{"nginx"}) }()
	testkit.Await(t, "the begin of the installation", func() bool { return exists("began") })
	cancel()
	if err := <-installed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if !exists("ended") {
		t.Error("the installation did not end, or without the policy that forbids to start services")
	}
	if exists("policy-rc.d") {
		t.Error("the policy still exists after the installation")
	}
}

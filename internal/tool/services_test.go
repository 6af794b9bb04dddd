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
	id := fmt.Sprintf("/proc/%d/", os.Getpid())
	for name, killed := range map[string]string{
		"no process has the id":      strings.ReplaceAll(string(live), id, "/proc/999999999/"),
		"another process has the id": strings.ReplaceAll(string(live), id, fmt.Sprintf("/proc/%d/", os.Getppid())),
	} {
		if err := os.WriteFile(policy, []byte(killed), 0o755); err != nil {
			t.Fatal(err)
		}
		if code := policyCode(t, policy); code != 0 || killed == string(live) {
			t.Errorf("%s: the policy exits with %d, want 0: allowed\n%s", name, code, killed)
		}
	}
	if err := withoutServices(policy, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(policy); !os.IsNotExist(err) {
		t.Errorf("the policy still exists (error %v), want it removed", err)
	}
}

func TestWithoutServicesRemovesOnlyItsOwnPolicy(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	other := "#!/bin/sh\n" + policyMark + "\nexit 101\n"
	if err := withoutServices(policy, func() error { return os.WriteFile(policy, []byte(other), 0o755) }); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(policy); err != nil || string(text) != other {
		t.Errorf("the policy is %q (error %v), want that of the other process", text, err)
	}
}

// packages installs nothing: instead of it, apt-get makes the file began and runs a script, in a directory with the policy.
func packages(t *testing.T, script string) (dir, policy string) {
	t.Helper()
	isolate(t)
	bin, dir := os.Getenv("PATH"), t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	program(t, filepath.Join(bin, "systemctl"), "exit 0")
	program(t, filepath.Join(bin, "apt-get"), `case "$*" in update*|*--download-only*) exit 0;; esac
cd `+dir+`; touch began; `+script)
	return dir, filepath.Join(dir, "policy-rc.d")
}

// The installation that ends first would remove the policy while the other one installs.
func TestInstallationsOfPackagesFollowOneAnother(t *testing.T) {
	dir, policy := packages(t, `until [ -e continue ]; do sleep 0.1; done; cp policy-rc.d ended-$$`)
	first, second, waits := make(chan error, 1), make(chan error, 1), make(chan string, 100)
	install := func(ended chan<- error, progress func(string)) {
		ended <- installPackages(t.Context(), policy, progress, []string{"nginx"}, []string{"nginx"})
	}
	go install(first, nil)
	testkit.Await(t, "the begin of the first installation", func() bool { _, err := os.Stat(filepath.Join(dir, "began")); return err == nil })
	go install(second, func(line string) { waits <- line })
	if line := <-waits; !strings.Contains(line, "waiting for another installation") {
		t.Errorf("the second installation does not wait: %s", line)
	}
	if err := os.WriteFile(filepath.Join(dir, "continue"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	if ended, _ := filepath.Glob(filepath.Join(dir, "ended-*")); len(ended) != 2 {
		t.Errorf("%d of 2 installations ended with the policy that forbids to start services", len(ended))
	}
	if _, err := os.Stat(policy); !os.IsNotExist(err) {
		t.Errorf("the policy still exists (error %v), want it removed", err)
	}
}

// An interrupted dpkg would leave a half-installed package, whose service starts when the user repairs it.
func TestInterruptCompletesAnInstallationThatHasBegun(t *testing.T) {
	dir, policy := packages(t, `sleep 1; cp policy-rc.d ended`)
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

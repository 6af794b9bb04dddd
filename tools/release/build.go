package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program is rpclab, built for a platform.
type program struct {
	path, os, arch string
	version        string // without v
	time           time.Time
	info           *buildinfo.BuildInfo
}

func (p program) platform() string { return p.os + "/" + p.arch }

// base begins the names of a program's files.
func (p program) base() string { return strings.Join([]string{"rpclab", p.version, p.os, p.arch}, "_") }

func (p program) archive() string { return p.base() + ".tar.gz" }

// builder builds programs of the source tree root into work.
type builder struct{ root, work string }

// build builds a stripped, static program without local paths.
func (b builder) build(ctx context.Context, platform string) (p program, err error) {
	var ok bool
	if p.os, p.arch, ok = strings.Cut(platform, "/"); !ok {
		return p, fmt.Errorf("platform %q is not SYSTEM/ARCHITECTURE", platform)
	}
	overlay, err := b.overlay(ctx)
	if err != nil {
		return p, err
	}
	p.path = filepath.Join(b.work, p.os+"-"+p.arch, "rpclab")
	if err := run(ctx, b.root, []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=true", "-overlay", overlay, "-ldflags", "-s -w", "-o", p.path, "./cmd/rpclab"); err != nil {
		return p, err
	}
	if p.info, err = buildinfo.ReadFile(p.path); err != nil {
		return p, err
	}
	for _, s := range p.info.Settings {
		if s.Key == "vcs.time" {
			if p.time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return p, err
			}
		}
	}
	if p.time.IsZero() {
		return p, fmt.Errorf("the program records no commit: release a Git clone")
	}
	p.version = strings.TrimPrefix(cmp.Or(strings.Trim(p.info.Main.Version, "()"), "devel"), "v")
	return p, nil
}

// A template of Go may call the methods of its values, so the linker keeps every method of every type. The templates of
// rpclab call none. Without this call the program is 26 MB smaller.
const (
	callsMethods = "if method := ptr.MethodByName(fieldName); method.IsValid() {"
	callsNone    = "if method := (reflect.Value{}); method.IsValid() {"
)

// overlay writes a package text/template whose templates call no methods, for go build -overlay.
func (b builder) overlay(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(out)), "src", "text", "template", "exec.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if bytes.Count(source, []byte(callsMethods)) != 1 {
		return "", errors.New("text/template of this Go does not call methods as that of Go 1.26 does: adapt callsMethods in tools/release/build.go")
	}
	changed, list := filepath.Join(b.work, "exec.go"), filepath.Join(b.work, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(
		os.WriteFile(changed, bytes.Replace(source, []byte(callsMethods), []byte(callsNone), 1), 0o644),
		os.WriteFile(list, text, 0o644))
}

// run runs a command in a directory. The error has what the command printed.
func run(ctx context.Context, dir string, env []string, args ...string) error {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

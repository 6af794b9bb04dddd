package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools are the paths of all programs.
type tools struct {
	ghz, fortio, k6, h2load, wrk           string
	rpclab, answerer, wirebench, webserver string
	ghzAt, fortioAt, k6At, h2loadAt, wrkAt string // versions
}

const (
	ghzModule    = "github.com/bojand/ghz/cmd/ghz@v0.121.0"
	fortioModule = "fortio.org/fortio@v1.66.0"
	k6Module     = "go.k6.io/k6@v1.0.0"
)

// install finds or builds every program. Its error names every program that is missing.
func install(dir string) (t tools, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return t, fmt.Errorf("find a directory for the load generators: %w", err)
	}
	cache = filepath.Join(cache, "rpclab", "peers")
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	t.ghz, t.ghzAt, err = goInstall(cache, "ghz", ghzModule)
	note(err)
	t.fortio, t.fortioAt, err = goInstall(cache, "fortio", fortioModule)
	note(err)
	t.k6, t.k6At, err = goInstall(cache, "k6", k6Module)
	note(err)
	t.h2load, t.h2loadAt, err = fromSystem("h2load", "nghttp2-client")
	note(err)
	t.wrk, t.wrkAt, err = fromSystem("wrk", "wrk")
	note(err)
	for program, path := range map[string]*string{
		"./cmd/rpclab": &t.rpclab, "./bench/answerer": &t.answerer, "./bench/wirebench": &t.wirebench, "./bench/webserver": &t.webserver,
	} {
		*path = filepath.Join(dir, filepath.Base(program))
		if output, err := exec.Command("go", "build", "-o", *path, program).CombinedOutput(); err != nil {
			note(fmt.Errorf("build %s: %w\n%s", program, err, output))
		}
	}
	return t, errors.Join(problems...)
}

// goInstall installs a module's program, unless this version is installed.
func goInstall(cache, name, module string) (path, version string, err error) {
	_, version, _ = strings.Cut(module, "@")
	bin := filepath.Join(cache, name+"@"+version)
	path = filepath.Join(bin, name)
	if _, err := os.Stat(path); err == nil {
		return path, version, nil
	}
	log.Printf("installing %s, which takes a few minutes once", module)
	cmd := exec.Command("go", "install", module)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOBIN="+bin)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", version, fmt.Errorf("%s cannot be installed: go install %s: %w\n%s", name, module, err, output)
	}
	return path, version, nil
}

// fromSystem finds a program of a Debian package.
func fromSystem(name, pack string) (path, version string, err error) {
	if path, err = exec.LookPath(name); err != nil {
		return "", "", fmt.Errorf("%s is missing: install the package %s (Debian: apt-get install %s)", name, pack, pack)
	}
	output, err := exec.Command(path, "--version").Output()
	if len(output) == 0 { // wrk prints its version and fails
		return "", "", fmt.Errorf("%s --version: %w", name, err)
	}
	line, _, _ := strings.Cut(trimmed(output), "\n")
	version, _, _ = strings.Cut(strings.TrimPrefix(line, name+" "), " ")
	return path, version, nil
}

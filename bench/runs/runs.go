// Package runs runs experiments with an rpclab of its own and reads their results, for benchmarks.
package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/result"
)

// Program is an rpclab built from the working directory.
type Program struct {
	Dir  string // for files of the benchmark
	Path string // of the program
	temp *process.TempDir
}

// Build builds an rpclab. Remove removes it.
func Build() (*Program, error) {
	temp, err := process.NewTempDir()
	if err != nil {
		return nil, err
	}
	p := &Program{Dir: temp.Path, Path: filepath.Join(temp.Path, "rpclab"), temp: temp}
	if text, err := exec.Command("go", "build", "-o", p.Path, "./cmd/rpclab").CombinedOutput(); err != nil {
		p.Remove()
		return nil, fmt.Errorf("build rpclab: %w: run this in the root of the repository\n%s", err, text)
	}
	return p, nil
}

// Remove removes the program and its directory.
func (p *Program) Remove() { _ = p.temp.Remove() }

// Run runs an experiment, which is not stored.
func (p *Program) Run(experiment string, seed int, flags ...string) (d result.Document, err error) {
	args := append([]string{"run", experiment, "--seed", fmt.Sprint(seed), "--no-store", "--json", "-"}, flags...)
	text, err := exec.Command(p.Path, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return d, fmt.Errorf("%s, run %d: %w", filepath.Base(experiment), seed, err)
	}
	return d, json.Unmarshal(text, &d)
}

// MadeBy says how, when and on which machine a page was made.
func MadeBy(command string, began time.Time, m result.Machine) string {
	return fmt.Sprintf("Made by `%s` on %s in %s. %d CPUs (%s), Linux %s, %s.", command, began.UTC().Format(time.DateOnly),
		time.Since(began).Round(time.Second), m.CPUs, m.Model, strings.SplitN(m.Kernel, "-", 2)[0], m.Go)
}

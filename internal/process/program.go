package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// userPrograms start a program as another user.
var userPrograms = []string{"sudo", "doas", "pkexec", "su", "runuser"}

// CheckProgram returns an error if the program of a command line does not exist, cannot be executed, or runs as another
// user, whose processes rpclab may not stop. A name with a slash is relative to the working directory, other names are in
// PATH. where is the field of the experiment that has the command.
func CheckProgram(where, name, dir string, env []string) error {
	if info, err := os.Stat(Absolute(dir)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s.dir: there is no directory %s", where, Absolute(dir))
	}
	if os.Geteuid() != 0 && slices.Contains(userPrograms, filepath.Base(name)) {
		return fmt.Errorf("%s.command: rpclab may not stop what %s starts as another user: remove %[2]s, or run rpclab itself as root", where, name)
	}
	here := filepath.Join(Absolute(dir), name)
	if filepath.IsAbs(name) {
		here = name
	}
	_, err := exec.LookPath(here)
	if strings.Contains(name, "/") {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%s.command: there is no program %s in %s", where, name, Absolute(dir))
		case err != nil:
			return fmt.Errorf("%s.command: %s in %s cannot be executed: make it executable with chmod +x", where, name, Absolute(dir))
		}
		return nil
	}
	path := os.Getenv("PATH")
	for _, setting := range env {
		if value, ok := strings.CutPrefix(setting, "PATH="); ok {
			path = value
		}
	}
	for _, place := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(place, name)); err == nil {
			return nil
		}
	}
	if err == nil {
		return fmt.Errorf("%s.command: there is no program %s in PATH; for the one in %s write ./%s", where, name, Absolute(dir), name)
	}
	return fmt.Errorf("%s.command: there is no program %s in PATH, and none in %s", where, name, Absolute(dir))
}

// Absolute returns the absolute path of a directory; empty: the working directory of this process.
func Absolute(dir string) string {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	return absolute
}

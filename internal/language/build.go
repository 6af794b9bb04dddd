package language

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rpclab/api"
	"rpclab/internal/process"
	"rpclab/servers"
)

// ErrNotBuilt means that the programs of a language are not built from the present sources, for the present interpreter.
var ErrNotBuilt = errors.New("not built")

// Command is the command of the language's programs: a path and its first arguments. For Go it is
// self.
func (l Language) Command(self []string) ([]string, error) {
	if l.Name == Go {
		return self, nil
	}
	if dir := os.Getenv(ImageVariable); dir != "" {
		text, err := os.ReadFile(filepath.Join(dir, l.Name, "command"))
		if err != nil {
			return nil, fmt.Errorf("this image has no programs in %s: build it with rpclab image build --languages %s", l.Name, l.Name)
		}
		return lines(text), nil
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(commandFile(cache, l))
	if err != nil || !sameInterpreter(commandFile(cache, l), lines(text)[0]) {
		return nil, fmt.Errorf("servers in %s are %w: run rpclab servers build %s", l.Name, ErrNotBuilt, l.Name)
	}
	now := time.Now()
	_ = os.Chtimes(commandFile(cache, l), now, now) // removeOld keeps what is in use
	return lines(text), nil
}

// resolve is the file that a program is, after symbolic links, such as /usr/bin/python3.13.
func resolve(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// interpreterFile is beside a command file. It names the file that the command's interpreter was when it was built, see
// [resolve].
func interpreterFile(command string) string {
	return filepath.Join(filepath.Dir(command), "interpreter")
}

// sameInterpreter reports whether the interpreter of a command file is still what it was when it was built. A Python of
// another version, to which an upgrade of the system changed a link, does not find the libraries.
func sameInterpreter(command, interpreter string) bool {
	now, err := resolve(interpreter)
	then, _ := os.ReadFile(interpreterFile(command))
	return err == nil && now == string(then)
}

func lines(text []byte) []string { return strings.Split(strings.TrimSpace(string(text)), "\n") }

// Build builds the language's programs unless they are built already, and returns their command.
// log receives the output of the build tools. Build fails with the tools that are missing.
func (l Language) Build(ctx context.Context, self []string, log io.Writer) ([]string, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	unlock, err := process.LockDir(ctx, cache)
	if err != nil {
		return nil, fmt.Errorf("wait for another build in %s: %w", cache, err)
	}
	defer unlock()
	if command, err := l.Command(self); !errors.Is(err, ErrNotBuilt) {
		return command, err
	}
	if err := removeOld(cache); err != nil {
		return nil, err
	}
	if missing := l.MissingTools(); len(missing) > 0 {
		return nil, fmt.Errorf("servers in %s cannot be built: %s", l.Name, strings.Join(missing, "; "))
	}
	command, err := l.build(ctx, cache, log)
	if err != nil {
		return nil, fmt.Errorf("build the servers in %s: %w", l.Name, err)
	}
	interpreter, err := resolve(lines([]byte(command))[0])
	if err != nil {
		return nil, fmt.Errorf("find the program of the servers in %s: %w", l.Name, err)
	}
	if err := os.WriteFile(interpreterFile(commandFile(cache, l)), []byte(interpreter), 0o644); err != nil {
		return nil, err
	}
	// The command is written last and at once: a build that was interrupted has none.
	unfinished := commandFile(cache, l) + ".new"
	if err := errors.Join(os.WriteFile(unfinished, []byte(command), 0o644), os.Rename(unfinished, commandFile(cache, l))); err != nil {
		return nil, err
	}
	return l.Command(self)
}

// build writes the sources to a directory and runs their build script, which prints the command.
func (l Language) build(ctx context.Context, cache string, log io.Writer) (command string, err error) {
	out := filepath.Dir(commandFile(cache, l))
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil { // what an interrupted build left, or one for another interpreter
		return "", err
	}
	dir := filepath.Join(cache, "source", l.Name)
	if err := writeSources(dir, sources(l)); err != nil {
		return "", err
	}
	var stdout bytes.Buffer
	_, err = process.Run(ctx, process.Spec{
		Args: []string{"sh", filepath.Join(dir, "servers", "build.sh"), l.Name}, Stdout: &stdout, Log: log,
		Env: []string{"XDG_CACHE_HOME=" + filepath.Dir(filepath.Dir(cache)), "RPCLAB_SERVERS_OUT=" + out},
	})
	if err != nil {
		return "", err
	}
	return stdout.String(), nil
}

// writeSources makes a directory contain exactly these sources. It does not touch an unchanged file,
// because cargo builds again what is newer than its last build.
func writeSources(dir string, all []source) error {
	wanted := map[string]bool{}
	for _, s := range all {
		err := fs.WalkDir(s.files, ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := fs.ReadFile(s.files, path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, filepath.FromSlash(s.at), filepath.FromSlash(path))
			wanted[to] = true
			if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
				return nil
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o644)
		})
		if err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || wanted[path] {
			return err
		}
		return os.Remove(path)
	})
}

// source is the files of a directory of the source tree.
type source struct {
	at    string
	files fs.FS
}

// sources are all sources of a language.
func sources(l Language) []source {
	own, _ := fs.Sub(servers.Sources, l.Name) // fails only for an invalid path
	return []source{{"servers/" + l.Name, own}, {"servers", servers.Script}, {"api", api.Protos}}
}

// checksum is the SHA-256 of all sources.
func checksum(l Language) string {
	hash := sha256.New()
	for _, s := range sources(l) {
		_ = fs.WalkDir(s.files, ".", func(path string, e fs.DirEntry, err error) error { // embedded files: it cannot fail
			if err == nil && !e.IsDir() {
				text, _ := fs.ReadFile(s.files, path)
				fmt.Fprintf(hash, "%s/%s %d\n%s", s.at, path, len(text), text)
			}
			return err
		})
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// cacheDir is the directory of everything that is built.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for servers: %w", err)
	}
	return filepath.Join(cache, "rpclab", "servers"), nil
}

// commandFile has the command of the programs. Its directory is named after the sources, so that
// a build from other sources does not replace programs that run.
func commandFile(cache string, l Language) string {
	return filepath.Join(cache, l.Name+"-"+checksum(l)[:16], "command")
}

// unusedFor is how long programs that nobody uses stay.
const unusedFor = 30 * 24 * time.Hour

// removeOld removes the programs that nobody used for unusedFor.
func removeOld(cache string) error {
	var err error
	for _, l := range languages {
		dirs, _ := filepath.Glob(filepath.Join(cache, l.Name+"-*")) // fails only for an invalid pattern
		for _, dir := range dirs {
			// A build that was interrupted has no command.
			if command := filepath.Join(dir, "command"); isUnused(command) || isMissing(command) && isUnused(dir) {
				err = errors.Join(err, os.RemoveAll(dir))
			}
		}
	}
	// Earlier versions kept one build of a language: java.command and the directory java.
	earlier, _ := filepath.Glob(filepath.Join(cache, "*.command")) // fails only for an invalid pattern
	for _, file := range earlier {
		if !isUnused(file) {
			continue
		}
		err = errors.Join(err, os.Remove(file))
		if dir := strings.TrimSuffix(file, ".command"); filepath.Base(dir) != "rust" { // cargo builds there
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

func isMissing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// isUnused reports whether nobody used the programs of a command file, or changed a directory, for unusedFor.
func isUnused(file string) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) > unusedFor
}

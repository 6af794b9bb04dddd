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
	"path/filepath"
	"strings"

	"rpclab/api"
	"rpclab/internal/process"
	"rpclab/servers"
)

// ErrNotBuilt is what the error wraps of a language whose programs are not built, or were
// from other sources.
var ErrNotBuilt = errors.New("not built")

// Command is what runs the language's programs: a path and its first arguments. Of our own
// it is self.
func (l Language) Command(self []string) ([]string, error) {
	if l.Name == Go {
		return self, nil
	}
	out, err := home()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(madePath(out, l))
	made, command, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if err != nil || made != sum(l) {
		return nil, fmt.Errorf("servers in %s are %w: rpclab servers build %s", l.Name, ErrNotBuilt, l.Name)
	}
	return strings.Split(command, "\n"), nil
}

// Build builds the language's programs unless they are built already, and returns what
// runs them. log hears what the tools write. It fails with what is missing.
func (l Language) Build(ctx context.Context, self []string, log io.Writer) ([]string, error) {
	out, err := home()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	end, err := process.LockDir(ctx, out)
	if err != nil {
		return nil, fmt.Errorf("wait for another build in %s: %w", out, err)
	}
	defer end()
	if command, err := l.Command(self); !errors.Is(err, ErrNotBuilt) {
		return command, err
	}
	if missing := l.MissingTools(); len(missing) > 0 {
		return nil, fmt.Errorf("servers in %s cannot be built: %s", l.Name, strings.Join(missing, "; "))
	}
	command, err := l.run(ctx, out, log)
	if err != nil {
		return nil, fmt.Errorf("build the servers in %s: %w", l.Name, err)
	}
	if err := os.WriteFile(madePath(out, l), []byte(sum(l)+"\n"+command), 0o644); err != nil {
		return nil, err
	}
	return l.Command(self)
}

// run lays the sources into a directory of their own and builds them there; what it prints runs them.
func (l Language) run(ctx context.Context, out string, log io.Writer) (command string, err error) {
	dir := filepath.Join(out, "source", l.Name)
	if err := lay(dir, sources(l)); err != nil {
		return "", err
	}
	var said bytes.Buffer
	p, err := process.Start(process.Spec{
		Args: []string{"sh", filepath.Join(dir, "servers", "build.sh"), l.Name}, Stdout: &said, Log: log,
		Env: []string{"XDG_CACHE_HOME=" + filepath.Dir(filepath.Dir(out))},
	})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return "", ctx.Err()
	}
	if err := p.Err(); err != nil {
		return "", fmt.Errorf("%w; its last lines:\n%s", err, p.Log())
	}
	return said.String(), nil
}

// lay makes a directory hold these sources and nothing else. A file that is as it has to be is
// not touched: cargo goes by times, and would build again what depends on it.
func lay(dir string, all []source) error {
	laid := map[string]bool{}
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
			laid[to] = true
			if there, err := os.ReadFile(to); err == nil && bytes.Equal(there, text) {
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
		if err != nil || e.IsDir() || laid[path] {
			return err
		}
		return os.Remove(path)
	})
}

// source is files that lie at a place in the tree.
type source struct {
	at    string
	files fs.FS
}

// sources are all that a language is built from.
func sources(l Language) []source {
	own, _ := fs.Sub(servers.Sources, l.Name) // a name of its own directories
	return []source{{"servers/" + l.Name, own}, {"servers", servers.Script}, {"api", api.Protos}}
}

// sum is one of all the sources.
func sum(l Language) string {
	all := sha256.New()
	for _, s := range sources(l) {
		_ = fs.WalkDir(s.files, ".", func(path string, e fs.DirEntry, err error) error { // they are in memory
			if err == nil && !e.IsDir() {
				text, _ := fs.ReadFile(s.files, path)
				fmt.Fprintf(all, "%s/%s %d\n%s", s.at, path, len(text), text)
			}
			return err
		})
	}
	return hex.EncodeToString(all.Sum(nil))
}

// home is where everything lies that is built.
func home() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for servers: %w", err)
	}
	return filepath.Join(cache, "rpclab", "servers"), nil
}

func madePath(out string, l Language) string { return filepath.Join(out, l.Name+".command") }

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxLinks bounds the symbolic links from one to the next, as operating systems do.
const maxLinks = 40

// BehindLinks returns the path of the file behind symbolic links, which may not exist yet. A path in a directory of
// open descriptors is not followed further: /dev/stdout is /proc/PID/fd/1, whatever that has.
func BehindLinks(path string) string {
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return path
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil || isDescriptor(path) {
			return path
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return path
}

// isDescriptor reports whether a path, without links, is an open descriptor of a process.
func isDescriptor(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd"
}

// IsStream reports whether a path, without links, is written in place: a device, a pipe or an open descriptor.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && (isDescriptor(path) || !info.Mode().IsRegular())
}

// writeStream writes after what the stream has. The standard streams are written by their own descriptors, because
// this program writes to them elsewhere too.
func writeStream(path string, draw func(io.Writer) error) error {
	for _, standard := range []struct {
		name string
		file *os.File
	}{{"/dev/stdout", os.Stdout}, {"/dev/stderr", os.Stderr}} {
		if path == BehindLinks(standard.name) {
			return draw(standard.file)
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return errors.Join(draw(file), file.Close())
}

// writing is locked while WriteFile replaces a file.
var writing sync.Mutex

// EndWriting waits for the file that WriteFile replaces at this time. No further file begins.
func EndWriting() { writing.Lock() } // and never unlocks

// WriteFile writes a temporary file and renames it, so that a failure leaves the old file intact. It follows links,
// and writes devices, pipes and open descriptors in place.
func WriteFile(path string, draw func(io.Writer) error) error {
	path = BehindLinks(path)
	if IsStream(path) {
		return writeStream(path, draw)
	}
	var text bytes.Buffer
	if err := draw(&text); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	writing.Lock()
	defer writing.Unlock()
	return ReplaceFile(path, filepath.Join(filepath.Dir(path), fmt.Sprintf(".rpclab-%x", rand.Uint64())), func(w io.Writer) error {
		_, err := text.WriteTo(w)
		return err
	})
}

// ReplaceFile writes the new file part, with the permissions of the file at path or with those of a new file, and
// renames it to path. A failure leaves no part. Neither path may have links.
func ReplaceFile(path, part string, draw func(io.Writer) error) (err error) {
	file, err := createFor(path, part)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	if err := errors.Join(draw(file), file.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return os.Rename(part, path)
}

// createFor creates the file part that replaces the one at a path.
func createFor(path, part string) (*os.File, error) {
	mode := fs.FileMode(0o666) // without what the user's umask removes
	old, err := os.Stat(path)
	if err == nil {
		mode = 0o600
	}
	file, createErr := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if createErr != nil || err != nil {
		return file, createErr
	}
	if err := file.Chmod(old.Mode().Perm()); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(part))
	}
	return file, nil
}

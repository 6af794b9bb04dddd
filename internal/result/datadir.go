package result

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// DataDir returns the directory of the store: $RPCLAB_DATA_DIR, else $XDG_DATA_HOME/rpclab,
// else ~/.local/share/rpclab (macOS: ~/Library/Application Support/rpclab).
func DataDir() (string, error) {
	return dataDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
}

// dataDir is DataDir for any operating system. A relative $XDG_DATA_HOME is ignored, as the
// XDG Base Directory Specification requires.
func dataDir(system string, env func(string) string, home func() (string, error)) (string, error) {
	if dir := env("RPCLAB_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rpclab"), nil
	}
	dir, err := home()
	if err != nil {
		return "", errors.New("no directory for the result store: none of RPCLAB_DATA_DIR, XDG_DATA_HOME and HOME is set; " + remedy)
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "rpclab"), nil
	}
	return filepath.Join(dir, ".local", "share", "rpclab"), nil
}

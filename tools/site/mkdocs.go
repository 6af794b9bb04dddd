package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed mkdocs.yml requirements.txt theme
var settings embed.FS

// mkdocs renders the pages, and fails at a warning.
func mkdocs(ctx context.Context, root, pages, out string, sections []section) error {
	installed, err := install(ctx, root)
	if err != nil {
		return err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "rpclab-mkdocs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, settings); err != nil {
		return err
	}
	config := filepath.Join(work, "mkdocs.yml")
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	text = fmt.Appendf(text, "docs_dir: %q\nsite_dir: %q\nnav:\n%s", pages, out, navigation(sections, ""))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "python3", "-m", "mkdocs", "--quiet", "build", "--strict", "--config-file", config)
	c.Env = append(os.Environ(), "PYTHONPATH="+installed, "PYTHONDONTWRITEBYTECODE=1", "NO_MKDOCS_2_WARNING=true")
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("mkdocs: %w\n%s", err, said)
	}
	return nil
}

// install installs MkDocs and its theme into the cache, once for each version of the requirements.
func install(ctx context.Context, root string) (dir string, err error) {
	requirements, err := settings.ReadFile("requirements.txt")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "rpclab", fmt.Sprintf("mkdocs-%x", sha256.Sum256(requirements))[:20])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "mkdocs-part-") // the directory is complete or missing
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	c := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--root-user-action", "ignore", "--disable-pip-version-check",
		"--no-deps", "--require-hashes", "--target", part, "--requirement", filepath.Join(root, "tools/site/requirements.txt"))
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip: %w (it needs Python 3.11 or newer with pip)\n%s", err, said)
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		if _, missing := os.Stat(dir); missing != nil {
			return "", err
		}
	}
	return dir, nil
}

// navigation is the setting nav of MkDocs.
func navigation(sections []section, indent string) string {
	var nav strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&nav, "%s- %q:\n", indent, s.title)
		for _, place := range s.pages {
			fmt.Fprintf(&nav, "%s  - %q\n", indent, place)
		}
		nav.WriteString(navigation(s.sections, indent+"  "))
	}
	return nav.String()
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// document is a file that is the same on every platform, by its path in an archive.
type document struct {
	name string
	text []byte
}

// licences are the files that must go with the program.
var licences = []string{"LICENSE", "NOTICE", "THIRD_PARTY.md", "legal/npm.md"}

// read returns files of the source tree root.
func read(root string, names ...string) (all []document, err error) {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, document{name, text})
	}
	return all, nil
}

// documentsOf returns the licences and pages of the source tree, and the man pages and completions that a program of this machine
// writes.
func documentsOf(ctx context.Context, root, work string, here program) (all []document, err error) {
	if all, err = read(root, append([]string{"CHANGELOG.md", "README.md"}, licences...)...); err != nil {
		return nil, err
	}
	pages := filepath.Join(work, "man1")
	if err := run(ctx, work, nil, here.path, "man", "--date", here.time.UTC().Format(time.DateOnly), pages); err != nil {
		return nil, err
	}
	err = fs.WalkDir(os.DirFS(pages), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(pages, name))
		all = append(all, document{path.Join("man/man1", name), text})
		return err
	})
	if err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "rpclab.bash", "zsh": "_rpclab", "fish": "rpclab.fish"} {
		text, err := exec.CommandContext(ctx, here.path, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("rpclab completion %s: %w", shell, err)
		}
		all = append(all, document{path.Join("completions", name), text})
	}
	slices.SortFunc(all, func(a, b document) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// writeArchive writes one directory with the program and the documents. Files belong to root and have the time of the commit.
func writeArchive(file string, p program, documents []document) error {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	return pack(file, strings.TrimSuffix(filepath.Base(file), ".tar.gz"), p, append([]document{{"rpclab", text}}, documents...))
}

// pack writes files into one directory, top, of an archive.
func pack(file, top string, p program, all []document) error {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, d := range all {
		header := &tar.Header{Name: path.Join(top, d.name), Mode: 0o644, Size: int64(len(d.text)), ModTime: p.time, Format: tar.FormatUSTAR}
		if d.name == "rpclab" {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(d.text); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// writeChecksums writes the SHA-256 of every file of a directory, as sha256sum --check reads them.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(text), entry.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

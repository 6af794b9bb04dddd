package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rpclab/internal/result"
)

// stored is the document of a finding with the sources that measured it.
type stored struct {
	document        result.Document
	sources, commit string
}

// store has the pages of findings and their documents.
type store struct{ dir, readme string }

func (s store) path(f finding) string { return filepath.Join(s.dir, "data", f.Name+".json.gz") }

// refusedPath has the document that guards marked last. It is not committed.
func (s store) refusedPath(f finding) string {
	return filepath.Join(s.dir, "data", f.Name+".refused.json.gz")
}

// header is the comment of a compressed document. The document itself stays as rpclab wrote it.
const header = "sources %s commit %s"

// read returns a stored document; nil: there is none.
func read(path string) (*stored, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: measure it again", path, err)
	}
	var s stored
	if _, err := fmt.Sscanf(text.Comment, header, &s.sources, &s.commit); err != nil {
		return nil, fmt.Errorf("%s: its comment %q does not name its sources: measure it again", path, text.Comment)
	}
	if s.document, err = result.Read(text); err != nil {
		return nil, fmt.Errorf("%s: %w: measure it again", path, err)
	}
	return &s, nil
}

// write stores a document without what pages do not need. Equal documents give equal bytes.
func (s stored) write(path string) error {
	text, err := json.Marshal(s.document)
	if err != nil {
		return err
	}
	var tree any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&tree); err != nil {
		return err
	}
	prune(tree)
	if text, err = json.Marshal(tree); err != nil {
		return err
	}
	var packed bytes.Buffer
	out, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	out.Comment = fmt.Sprintf(header, s.sources, s.commit)
	if _, err := out.Write(text); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return replace(path, packed.Bytes())
}

// large are the fields that take most of a document and that pages do not show: all values of histograms, the parts
// of trials, and their courses over time.
var large = []string{"hdr", "blocks", "timeline", "latency_over_time", "files"}

func prune(tree any) {
	switch t := tree.(type) {
	case map[string]any:
		for name, value := range t {
			if slices.Contains(large, name) {
				delete(t, name)
			} else {
				prune(value)
			}
		}
	case []any:
		for _, value := range t {
			prune(value)
		}
	}
}

// replace writes a file in one step: it has its old or its new content, however this process ends.
func replace(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	part := path + ".part" // the directory is locked, so no other process writes it
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

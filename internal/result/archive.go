package result

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// ErrArchive: the text is not an archive of runs.
var ErrArchive = errors.New("not an archive of runs")

// longestDocument is the largest document in bytes that is read from an archive: reading takes several times as much
// memory.
const longestDocument = 256 << 20

// Archive writes documents to a gzip-compressed tar file, each as ID.json. Equal documents give equal bytes.
type Archive struct {
	gzip *gzip.Writer
	tar  *tar.Writer
}

// NewArchive begins an archive.
func NewArchive(w io.Writer) *Archive {
	compressed := gzip.NewWriter(w)
	return &Archive{compressed, tar.NewWriter(compressed)}
}

// Add appends a document.
func (a *Archive) Add(d Document) error {
	var text bytes.Buffer
	if err := Write(&text, d); err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Name: d.ID + ".json", Mode: 0o644, Size: int64(text.Len()), ModTime: d.Started}); err != nil {
		return fmt.Errorf("archive run %s: %w", d.ID, err)
	}
	_, err := text.WriteTo(a.tar)
	return err
}

// Close completes the archive.
func (a *Archive) Close() error { return errors.Join(a.tar.Close(), a.gzip.Close()) }

// ReadArchive calls each with every document of an archive. It ends at the first error.
func ReadArchive(r io.Reader, each func(Document) error) error {
	text, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	for files := tar.NewReader(text); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrArchive, err)
		}
		if file.Typeflag != tar.TypeReg {
			continue
		}
		if file.Size > longestDocument {
			return fmt.Errorf("%s: %w: it has %d bytes, and a document has at most %d", file.Name, ErrUnreadable, file.Size, longestDocument)
		}
		d, err := Read(files)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: the archive ends in it", ErrUnreadable)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if err := each(d); err != nil {
			return err
		}
	}
}

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// contents are the files of a layer, by their path in the image.
type contents struct {
	what  string // envoy; for the history of the image
	files map[string]file
}

// file is a regular file or, with the mode's bit, a directory.
type file struct {
	mode fs.FileMode
	from string // path on this machine; empty: the contents are text
	text string
}

// epoch is the time of all files in an image, so that the image does not depend on when it was
// built.
var epoch = time.Unix(0, 0).UTC()

// layer packs the files until the context ends. It reads each file once, and holds them compressed in memory.
func (c contents) layer(ctx context.Context) (v1.Layer, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(c.pack(limited{ctx, writer})) }()
		return reader, nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", c.what, err)
	}
	return layer, nil
}

// limited is a writer until the context ends.
type limited struct {
	ctx context.Context
	io.Writer
}

func (l limited) Write(text []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.Writer.Write(text)
}

// pack writes a tar that depends only on the contents: sorted names, no times, owned by root.
func (c contents) pack(w io.Writer) error {
	archive := tar.NewWriter(w)
	files := maps.Clone(c.files)
	for name := range c.files {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if _, ok := files[dir]; !ok {
				files[dir] = file{mode: fs.ModeDir | 0o755}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(archive, name, files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func add(archive *tar.Writer, name string, f file) error {
	header := &tar.Header{Format: tar.FormatPAX, Name: strings.TrimPrefix(name, "/"), ModTime: epoch, Mode: int64(f.mode.Perm())}
	if f.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	if f.mode.IsDir() {
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return archive.WriteHeader(header)
	}
	header.Typeflag = tar.TypeReg
	var contents io.Reader = bytes.NewReader([]byte(f.text))
	header.Size = int64(len(f.text))
	if f.from != "" {
		opened, err := os.Open(f.from)
		if err != nil {
			return err
		}
		defer opened.Close()
		info, err := opened.Stat()
		if err != nil {
			return err
		}
		contents, header.Size = opened, info.Size()
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(archive, contents); err != nil {
		return fmt.Errorf("%s: %w", f.from, err)
	}
	return nil
}

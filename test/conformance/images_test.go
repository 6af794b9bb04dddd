package conformance

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"rpclab/internal/image"
	"rpclab/internal/language"
)

// Two users who build the same sources make images with the same name, so no file in an image names a directory of its
// build. Java's AOT cache differs with every build.
func TestFilesOfAnImageDoNotNameADirectoryOfTheirBuild(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	platform, err := image.Platform("")
	if err != nil {
		t.Fatal(err)
	}
	directories := []string{filepath.Join(cache, "rpclab"), filepath.Join(home, ".cargo")}
	for _, name := range []string{"python", "rust"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := language.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			made, err := image.Build(t.Context(), image.Options{Program: "/bin/sh", Platform: platform, Programs: []image.Programs{{Language: name, Command: built(t, l)}}})
			if err != nil {
				t.Fatal(err)
			}
			contents := mutate.Extract(made)
			defer contents.Close()
			for files := tar.NewReader(contents); ; {
				header, err := files.Next()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if path.Base(header.Name) == "RECORD" {
					t.Errorf("%s has checksums of scripts, which name the directory of their interpreter", header.Name)
				}
				text, err := io.ReadAll(files)
				if err != nil {
					t.Fatal(err)
				}
				for _, directory := range directories {
					if bytes.Contains(text, []byte(directory)) {
						t.Errorf("%s contains %s", header.Name, directory)
					}
				}
			}
		})
	}
}

package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"rpclab/internal/process"
)

// WriteArchive writes an OCI archive (the image layout in a tar) until the context ends, where [process.WriteFile] would write.
// `ctr images import` and `docker load` give the image this name. If this process is killed, the next WriteArchive beside path
// removes its files.
func WriteArchive(ctx context.Context, path, imageName string, image v1.Image) (err error) {
	full, err := FullName(imageName)
	if err != nil {
		return err
	}
	path = process.BehindLinks(path)
	beside, write := filepath.Dir(path), process.ReplaceFile
	if process.IsStream(path) {
		beside = os.TempDir()
		write = func(path, _ string, draw func(io.Writer) error) error { return process.WriteFile(path, draw) }
	}
	dir, err := process.NewTempDirIn(beside)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	tree, part := filepath.Join(dir.Path, "layout"), filepath.Join(dir.Path, "archive")
	root, err := layout.Write(tree, empty.Index)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	if err := root.AppendImage(image, layout.WithPlatform(v1.Platform{OS: config.OS, Architecture: config.Architecture}), layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          full,
		"org.opencontainers.image.ref.name": full,
	})); err != nil {
		return err
	}
	if err := describeForDocker(filepath.Join(tree, "manifest.json"), full, image); err != nil {
		return err
	}
	return write(path, part, func(out io.Writer) error { return pack(limited{ctx, out}, tree) })
}

// describeForDocker writes the file in which Docker before version 25 finds the image, as `docker save` does.
func describeForDocker(path, name string, image v1.Image) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	described := tarball.Descriptor{Config: blob(manifest.Config), RepoTags: []string{name}}
	for _, layer := range manifest.Layers {
		described.Layers = append(described.Layers, blob(layer))
	}
	text, err := json.Marshal(tarball.Manifest{described})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// pack writes a directory to a tar.
func pack(out io.Writer, dir string) error {
	archive := tar.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // in lexical order
		if err != nil || path == dir {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := file{mode: 0o644, from: path}
		if entry.IsDir() {
			f = file{mode: fs.ModeDir | 0o755}
		}
		return add(archive, filepath.ToSlash(relative), f)
	})
	return errors.Join(err, archive.Close())
}

// Push pushes the image to a registry, with the credentials of the user's container tools (docker
// login).
func Push(ctx context.Context, reference string, image v1.Image) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("image name %q: %w", reference, err)
	}
	err = remote.Write(ref, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	var answer *transport.Error
	switch registry := ref.Context().RegistryStr(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("push %s: %w", ref, ctx.Err())
	case errors.As(err, &answer):
		return fmt.Errorf("push %s: the registry %s refused: %w\nLog in with your container tools (docker login %s), or write the image to a file with --output", ref, registry, err, registry)
	default:
		return fmt.Errorf("push %s: the registry %s did not answer: %w\nCheck the name of the registry, or write the image to a file with --output", ref, registry, err)
	}
}

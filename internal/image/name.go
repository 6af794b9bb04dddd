package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"

	"rpclab/internal/version"
)

// Version is the version that images of this program have: v1.2.3 for a release, else the first digits of its
// SHA-256, which identify this build.
func Version() (string, error) {
	if build := version.Current(); build.IsRelease() {
		return build.Version, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// Name is the default name of an image: rpclab:<the first digits of a SHA-256 of all its files>, so that images with the
// same contents have the same name. Name reads them until the context ends.
func Name(ctx context.Context, o Options) (string, error) {
	layers, err := o.layers(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, layer := range layers {
		if err := layer.pack(limited{ctx, sum}); err != nil {
			return "", fmt.Errorf("pack %s: %w", layer.what, err)
		}
	}
	return "rpclab:" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// FullName completes a name with the default registry, repository and tag, as container runtimes
// do: docker.io/library/rpclab:v1.2.3.
func FullName(short string) (string, error) {
	ref, err := name.NewTag(short)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w; use a name such as rpclab:v1 or registry.example.com/team/rpclab:v1", short, err)
	}
	registry := ref.RegistryStr()
	if registry == name.DefaultRegistry { // index.docker.io, which runtimes name docker.io
		registry = "docker.io"
	}
	return registry + "/" + ref.RepositoryStr() + ":" + ref.TagStr(), nil
}

// Package image builds the container image of this program, without a container engine.
package image

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"rpclab/internal/language"
	"rpclab/internal/tool"
)

// Entrypoint is the path of rpclab in the image.
const Entrypoint = "/rpclab"

// binaries is the directory of other programs in the image; it is on the PATH.
const binaries = "/usr/bin"

// documentation is the directory of the licences in the image.
const documentation = "/usr/share/doc/rpclab"

// Options are the contents of an image.
type Options struct {
	Program  string      // path of rpclab, for the platform
	Tools    []tool.Tool // other programs to include
	Programs []Programs
	Licences []string // relative paths of texts that go with the program
	Platform v1.Platform
	Version  string // for a label
}

// Platform reads linux/amd64; empty: Linux on this machine's architecture. Containers run
// on Linux.
func Platform(text string) (v1.Platform, error) {
	if text == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	system, architecture, ok := strings.Cut(text, "/")
	if !ok || system != "linux" || architecture == "" || strings.Contains(architecture, "/") {
		return v1.Platform{}, fmt.Errorf("platform %q must be linux/ARCHITECTURE, such as linux/amd64 or linux/arm64", text)
	}
	return v1.Platform{OS: system, Architecture: architecture}, nil
}

// RunsOnThisMachine says whether programs of this machine run on the platform.
func RunsOnThisMachine(p v1.Platform) bool {
	return p.OS == runtime.GOOS && p.Architecture == runtime.GOARCH
}

// CheckPlatform returns an error if this machine's programs do not run on a platform.
func CheckPlatform(programs string, p v1.Platform) error {
	if RunsOnThisMachine(p) {
		return nil
	}
	return fmt.Errorf("%s: this machine's, for %s/%s, do not run on %s", programs, runtime.GOOS, runtime.GOARCH, p)
}

// Build builds an image until the context ends. The same programs always give the same image.
func Build(ctx context.Context, o Options) (v1.Image, error) {
	layers, err := o.layers(ctx)
	if err != nil {
		return nil, err
	}
	return assemble(ctx, layers, o)
}

// layers are the contents of the image, ordered by how seldom they change, so that nodes have the lower layers already:
// user and certificates, a layer for each other program with its libraries, licences, and rpclab.
func (o Options) layers(ctx context.Context) ([]contents, error) {
	layers := []contents{base()}
	have := map[string]bool{} // by path in the image
	byName := func(a, b tool.Tool) int { return strings.Compare(a.Name, b.Name) }
	for _, t := range slices.SortedFunc(slices.Values(o.Tools), byName) {
		if err := CheckPlatform(t.Name, o.Platform); err != nil {
			return nil, fmt.Errorf("%w: leave it out with --with ''", err)
		}
		path, err := t.Find()
		if err != nil {
			return nil, err
		}
		layer, err := programLayer(have, map[string]string{binaries + "/" + t.Name: path})
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	programs := slices.SortedFunc(slices.Values(o.Programs), func(a, b Programs) int { return strings.Compare(a.Language, b.Language) })
	for _, p := range programs {
		if err := CheckPlatform("programs in "+p.Language, o.Platform); err != nil {
			return nil, err
		}
		layer, err := languageLayer(have, p)
		if ctx.Err() != nil { // an interrupt of the terminal also ends the programs that languageLayer runs
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	if len(o.Tools) > 0 {
		// The supervisor of a proxy with workers is a shell script ([rpclab/internal/process]).
		shell, err := programLayer(have, map[string]string{"/bin/sh": "/bin/sh"})
		if err != nil {
			return nil, err
		}
		layers = append(layers, shell)
	}
	if len(o.Licences) > 0 {
		texts := contents{"licences", map[string]file{}}
		for _, name := range o.Licences {
			texts.files[path.Join(documentation, filepath.ToSlash(name))] = file{mode: 0o644, from: name}
		}
		layers = append(layers, texts)
	}
	own, err := programLayer(have, map[string]string{Entrypoint: o.Program})
	if err != nil {
		return nil, err
	}
	return append(layers, own), nil
}

func assemble(ctx context.Context, layers []contents, o Options) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, c := range layers {
		layer, err := c.layer(ctx)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "rpclab image build", Comment: c.what},
		}); err != nil {
			return nil, fmt.Errorf("layer %s: %w", c.what, err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = o.Platform.OS, o.Platform.Architecture
	config.Created = v1.Time{Time: epoch}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", User, User), // numbers, so that a kubelet can check that the user is not root
		Entrypoint: []string{Entrypoint},
		Env:        []string{"PATH=" + binaries + ":/bin", language.ImageVariable + "=" + language.ImageDir},
		WorkingDir: "/tmp",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "rpclab",
			"org.opencontainers.image.description": "Compare how services call each other",
			"org.opencontainers.image.version":     o.Version,
		},
	}
	return mutate.ConfigFile(image, config)
}

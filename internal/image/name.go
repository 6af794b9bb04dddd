package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"

	"github.com/google/go-containerregistry/pkg/name"
)

// release matches the version of a tagged release, which identifies one state of the source.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// Version is the version of this program: v1.2.3 for a release, else the first digits of its
// SHA-256, which identify this build.
func Version() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok && release.MatchString(info.Main.Version) {
		return info.Main.Version, nil
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

// DefaultName is the default image name of `rpclab image build` and of runs on Kubernetes:
// rpclab:<version>.
func DefaultName() (string, error) {
	version, err := Version()
	return "rpclab:" + version, err
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

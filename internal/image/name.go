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

// release is a version that was given a tag, and so names one state of the source.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// Version is this program's: of a release v1.2.3; else the first digits of its SHA-256,
// which no other build has.
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

// DefaultName is what `rpclab image build` calls the image of this program, and what a run
// on Kubernetes asks for, unless told otherwise: rpclab:<version>.
func DefaultName() (string, error) {
	version, err := Version()
	return "rpclab:" + version, err
}

// FullName is a name with all that goes without saying, as container runtimes keep it:
// docker.io/library/rpclab:v1.2.3.
func FullName(short string) (string, error) {
	ref, err := name.NewTag(short)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w; it has to be such as rpclab:v1 or registry.example.com/team/rpclab:v1", short, err)
	}
	registry := ref.RegistryStr()
	if registry == name.DefaultRegistry { // which is where docker.io is
		registry = "docker.io"
	}
	return registry + "/" + ref.RepositoryStr() + ":" + ref.TagStr(), nil
}

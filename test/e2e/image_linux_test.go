package e2e

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestEveryProgramOfTheImageRunsInIt unpacks the image and starts its programs as a
// container's user would, with the image as the root directory. That needs root.
func TestEveryProgramOfTheImageRunsInIt(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "rpclab.tar")
	s := rpclab(t, "image", "build", "--output", archive, "--name", "rpclab:test", "--with", "envoy,haproxy,nginx")
	if s.code != 0 || s.stdout != "rpclab:test\n" {
		t.Fatalf("exit code %d, standard output %q\n%s", s.code, s.stdout, s.stderr)
	}
	root := t.TempDir()
	unpackImage(t, archive, root)
	for file, text := range map[string]string{
		"nginx.conf":  "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path a;\nproxy_temp_path b;\nfastcgi_temp_path c;\nuwsgi_temp_path d;\nscgi_temp_path e;\n}\n",
		"haproxy.cfg": "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\nfrontend a\n bind 127.0.0.1:1 proto h2\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "tmp", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, try := range []struct {
		says string
		args []string
	}{
		{"rpclab", []string{"/rpclab", "--help"}},
		{"(/usr/bin/envoy)", []string{"/rpclab", "doctor"}}, // doctor finds the proxies
		{"version", []string{"/usr/bin/envoy", "--version"}},
		{"HAProxy", []string{"/usr/bin/haproxy", "-v"}},
		{"", []string{"/usr/bin/haproxy", "-c", "-f", "/tmp/haproxy.cfg"}},
		{"nginx", []string{"/usr/bin/nginx", "-v"}},
		{"successful", []string{"/usr/bin/nginx", "-t", "-p", "/tmp", "-c", "nginx.conf", "-e", "stderr"}},
		{"nginx", []string{"/bin/sh", "-c", `exec "$@"`, "sh", "/usr/bin/nginx", "-v"}},
	} {
		args := try.args
		program := exec.CommandContext(t.Context(), args[0], args[1:]...)
		program.Env, program.Dir = []string{"PATH=/usr/bin:/bin", "HOME=/tmp"}, "/tmp"
		program.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		said, err := program.CombinedOutput()
		if err != nil || !strings.Contains(string(said), try.says) {
			t.Errorf("%s in the image: error %v, output:\n%s", strings.Join(args, " "), err, said)
		}
	}
}

// maxImage is the size that no image of a language may exceed, in bytes, as a registry stores it.
const maxImage = 200e6

// TestImagesOfEveryLanguageAreSmallAndRun builds an image for each language and starts its server as a container's user
// would, with the image as the root directory. That needs root.
func TestImagesOfEveryLanguageAreSmallAndRun(t *testing.T) {
	t.Parallel()
	for language, model := range map[string]string{"rust": "grpc", "java": "grpc-netty", "python": "starlette"} {
		archive := filepath.Join(t.TempDir(), "rpclab.tar")
		s := rpclab(t, "image", "build", "--output", archive, "--name", "rpclab:test", "--with", "", "--languages", language)
		if s.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", language, s.code, s.stderr)
		}
		if info, err := os.Stat(archive); err != nil || info.Size() > maxImage {
			t.Errorf("the image for %s has %v bytes (error %v), want at most %.0f", language, info.Size(), err, maxImage)
		}
		root := t.TempDir()
		unpackImage(t, archive, root)
		for _, dir := range []string{"proc", "dev"} {
			if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		// The server exits with 3 when its standard input, the supervisor, has ended.
		program := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c",
			`mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot --userspec=65532:65532 "$0" "$@"`,
			root, "/rpclab", "program", language, "--listen", "127.0.0.1:0", "--model", model, "--supervised")
		program.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "RPCLAB_IMAGE_PROGRAMS=/opt/rpclab"}
		if language == "java" {
			program.Env = append(program.Env, "JAVA_TOOL_OPTIONS=-XX:AOTMode=on") // fails unless the AOT cache is valid
		}
		if said, _ := program.CombinedOutput(); program.ProcessState.ExitCode() != 3 {
			t.Errorf("the server in %s ended with %v, want exit status 3 at the end of its input:\n%s", language, program.ProcessState, said)
		}
	}
}

func TestImagesOfTheSameProgramsAreTheSame(t *testing.T) {
	t.Parallel()
	var sums [2][sha256.Size]byte
	for i := range sums {
		archive := filepath.Join(t.TempDir(), "rpclab.tar")
		if s := rpclab(t, "image", "build", "--output", archive, "--with", "", "--languages", "python,java,rust"); s.code != 0 {
			t.Fatalf("exit code %d\n%s", s.code, s.stderr)
		}
		text, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("two archives have the checksums %x and %x, want the same", sums[0], sums[1])
	}
}

// unpackImage writes the files of the one image in an archive under a directory.
func unpackImage(t *testing.T, archive, root string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parts := t.TempDir()
	untar(t, file, parts)
	index, err := layout.ImageIndexFromPath(parts)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var images []v1.Image
	for _, m := range manifest.Manifests {
		if name := m.Annotations["io.containerd.image.name"]; name != "docker.io/library/rpclab:test" {
			t.Errorf("the name of the image for containerd is %q", name)
		}
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	if len(images) != 1 {
		t.Fatalf("the archive has %d images, want 1", len(images))
	}
	files := mutate.Extract(images[0])
	defer files.Close()
	untar(t, files, root)
}

// untar writes a tar of files and directories under a directory.
func untar(t *testing.T, from io.Reader, root string) {
	t.Helper()
	for files := tar.NewReader(from); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at, mode := filepath.Join(root, header.Name), header.FileInfo().Mode()
		if mode.IsDir() {
			err = os.MkdirAll(at, 0o755)
		} else {
			var out *os.File
			if out, err = os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
				_, err = io.Copy(out, files)
				err = errors.Join(err, out.Close(), os.Chtimes(at, header.ModTime, header.ModTime))
			}
		}
		if err := errors.Join(err, os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

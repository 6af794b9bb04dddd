package e2e

import (
	"archive/tar"
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
				err = errors.Join(err, out.Close())
			}
		}
		if err := errors.Join(err, os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

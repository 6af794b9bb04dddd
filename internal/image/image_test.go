package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"rpclab/internal/testkit"
	"rpclab/internal/tool"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// smallImage is an image with a small program instead of rpclab.
func smallImage(t *testing.T) v1.Image {
	t.Helper()
	platform, err := Platform("")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS != "linux" { // programs of other systems have other formats
		t.Fatal("the tests of images need Linux")
	}
	text, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	image, err := Build(t.Context(), Options{Program: program, Platform: platform, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// listing is the header of every file in an image, by path.
func listing(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	all := map[string]*tar.Header{}
	reader := mutate.Extract(image)
	defer reader.Close()
	for files := tar.NewReader(reader); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all["/"+strings.TrimSuffix(header.Name, "/")] = header
	}
}

func TestBuildIsReproducible(t *testing.T) {
	first, err := smallImage(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := smallImage(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("two builds of one program have the digests %s and %s, want the same", first, second)
	}
}

func TestImageHasUserTemporaryDirectoryAndCertificates(t *testing.T) {
	image := smallImage(t)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/rpclab" || config.Architecture != runtime.GOARCH {
		t.Errorf("the image's configuration is %+v (%s), want the user 65532 and the entry point /rpclab on %s", config.Config, config.Architecture, runtime.GOARCH)
	}
	files := listing(t, image)
	for path, mode := range map[string]int64{"/rpclab": 0o755, "/tmp": 0o1777, "/etc/passwd": 0o644, "/etc/ssl/certs/ca-certificates.crt": 0o644} {
		if files[path] == nil {
			t.Errorf("the image has no %s", path)
		} else if files[path].Mode != mode {
			t.Errorf("%s has the mode %o, want %o", path, files[path].Mode, mode)
		}
	}
	for path, header := range files {
		if header.ModTime.Unix() != 0 || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s has the time %s and the owner %d %q, want the epoch and root", path, header.ModTime, header.Uid, header.Uname)
		}
	}
}

func TestImageHasLicences(t *testing.T) {
	t.Chdir("../..")
	image, err := Build(t.Context(), Options{Program: "/bin/sh", Licences: []string{"NOTICE", "legal/npm.md"}})
	if err != nil {
		t.Fatal(err)
	}
	files := listing(t, image)
	for _, path := range []string{"/usr/share/doc/rpclab/NOTICE", "/usr/share/doc/rpclab/legal/npm.md"} {
		if header := files[path]; header == nil || header.Mode != 0o644 || header.Size == 0 {
			t.Errorf("the image has %s as %+v, want a file that everyone may read", path, header)
		}
	}
}

func TestDependenciesAreLoaderAndLibraries(t *testing.T) {
	needed, err := Dependencies("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	var loader, libc bool
	for at := range needed {
		loader = loader || strings.HasPrefix(filepath.Base(at), "ld-")
		libc = libc || strings.HasPrefix(filepath.Base(at), "libc.")
	}
	if !loader || !libc {
		t.Errorf("/bin/sh needs %v, want a loader and libc in it", needed)
	}
}

func TestDependenciesOfAScriptAreAnError(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Dependencies(script); err == nil || !strings.Contains(err.Error(), "not a Linux program") {
		t.Errorf("error %v, want not a Linux program", err)
	}
}

func TestBuildRejectsToolsForAnotherArchitecture(t *testing.T) {
	_, err := Build(t.Context(), Options{Tools: []tool.Tool{tool.HAProxy}, Platform: v1.Platform{OS: "linux", Architecture: "s390x"}})
	if err == nil || !strings.Contains(err.Error(), "--with") {
		t.Errorf("error %v, want one that advises --with", err)
	}
}

func TestFullName(t *testing.T) {
	for short, full := range map[string]string{
		"rpclab:v1":             "docker.io/library/rpclab:v1",
		"team/rpclab":           "docker.io/team/rpclab:latest",
		"registry:5000/a/b:1.2": "registry:5000/a/b:1.2",
		"ghcr.io/team/rpclab:x": "ghcr.io/team/rpclab:x",
	} {
		if got, err := FullName(short); err != nil || got != full {
			t.Errorf("the full name of %s is %s (error %v), want %s", short, got, err, full)
		}
	}
	if _, err := FullName("Rpclab:v1"); err == nil {
		t.Error("FullName accepted an upper-case name, want an error")
	}
}

func TestFailedWriteArchiveLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "image.tar"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteArchive(t.Context(), filepath.Join(dir, "image.tar"), "rpclab:v1", smallImage(t)); err == nil {
		t.Fatal("WriteArchive replaced a directory, want an error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the directory has %v, want only image.tar", left)
	}
}

func TestAnArchiveFollowsLinksAndKeepsStreamsAndModes(t *testing.T) {
	dir, image := t.TempDir(), smallImage(t)
	private, stream, link := filepath.Join(dir, "private.tar"), filepath.Join(dir, "stream.tar"), filepath.Join(dir, "latest.tar")
	out, err := os.OpenFile(stream, os.O_RDWR|os.O_CREATE, 0o600)
	if err := errors.Join(err, os.WriteFile(private, []byte("old"), 0o600), os.Symlink("private.tar", link)); err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	descriptor := filepath.Join(dir, "out") // a test that fails must not replace the machine's
	if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", out.Fd()), descriptor); err != nil {
		t.Fatal(err)
	}
	for written, path := range map[string]string{private: link, stream: descriptor} {
		if err := WriteArchive(t.Context(), path, "rpclab:v1", image); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Readlink(path); err != nil {
			t.Errorf("the link is gone: %v", err)
		}
		if info, err := os.Stat(written); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v (%v), want the old one", written, info.Mode(), err)
		}
		if _, err := tarball.ImageFromPath(written, nil); err != nil {
			t.Errorf("%s has no image: %v", written, err)
		}
	}
}

func TestArchiveIsReadByOldDockerToo(t *testing.T) {
	archive, image := filepath.Join(t.TempDir(), "image.tar"), smallImage(t)
	if err := WriteArchive(t.Context(), archive, "rpclab:v1", image); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("docker.io/library/rpclab:v1")
	if err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(archive, &tag) // reads manifest.json only
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.ConfigName()
	if want, _ := image.ConfigName(); err != nil || got != want {
		t.Errorf("the archive has the image %s (error %v), want %s", got, err, want)
	}
}

func TestPushedImageIsInTheRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	image := smallImage(t)
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/rpclab:v1"
	if err := Push(t.Context(), reference, image); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Head(ref)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := image.Digest(); got.Digest != want {
		t.Errorf("the registry has the digest %s, want %s", got.Digest, want)
	}
}

func TestPushErrorNamesTheRegistry(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"no pushing here"}]}`))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	err := Push(t.Context(), host+"/rpclab:v1", smallImage(t))
	for _, want := range []string{host, "DENIED", "docker login"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s in it", err, want)
		}
	}
}

func TestNameIsThatOfTheContents(t *testing.T) {
	name := func(program string) string {
		t.Helper()
		named, err := Name(t.Context(), Options{Program: program})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FullName(named); err != nil {
			t.Error(err)
		}
		return named
	}
	copied := filepath.Join(t.TempDir(), "copy")
	text, err := os.ReadFile("/bin/sh")
	if err := errors.Join(err, os.WriteFile(copied, text, 0o700)); err != nil {
		t.Fatal(err)
	}
	if first, second := name("/bin/sh"), name(copied); first != second || !strings.HasPrefix(first, "rpclab:") {
		t.Errorf("images of a program and its copy have the names %s and %s, want the same", first, second)
	}
	if other := name("/bin/ls"); other == name("/bin/sh") {
		t.Errorf("images of two programs have the same name %s", other)
	}
}

// Whether to log in, or to look at the name, depends on who failed.
func TestAPushThatNoRegistryAnsweredDoesNotAdviseToLogIn(t *testing.T) {
	server := httptest.NewServer(nil)
	host := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	err := Push(t.Context(), host+"/rpclab:v1", smallImage(t))
	if err == nil || !strings.Contains(err.Error(), "did not answer") || strings.Contains(err.Error(), "docker login") {
		t.Errorf("error %v, want that %s did not answer", err, host)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := Push(interrupted, host+"/rpclab:v1", smallImage(t)); err == nil || strings.Contains(err.Error(), "\n") || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want an interrupt without advice", err)
	}
}

func TestAProgramMustBeForThePlatformOfTheImage(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, there := v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, v1.Platform{OS: "linux", Architecture: "s390x"}
	if err := CheckProgram(own, here); err != nil {
		t.Error(err)
	}
	if err := CheckProgram(own, there); err == nil || !strings.HasSuffix(err.Error(), "is not a program for linux/s390x: build it with GOOS=linux GOARCH=s390x") {
		t.Errorf("error %v, want that it is not for %s", err, there)
	}
	if err := CheckProgram("image_test.go", here); err == nil || !strings.Contains(err.Error(), "not a Linux program") {
		t.Errorf("error %v, want that a text is no program", err)
	}
}

// The program has a tail of 4 GiB, which no machine packs within the time of the context.
func TestBuildAndNameEndWithTheirContext(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	text, err := os.ReadFile("/bin/sh")
	if err := errors.Join(err, os.WriteFile(program, text, 0o700), os.Truncate(program, 4<<30)); err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(context.Context) error{
		"Build": func(ctx context.Context) error { _, err := Build(ctx, Options{Program: program}); return err },
		"Name":  func(ctx context.Context) error { _, err := Name(ctx, Options{Program: program}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := build(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
	}
}

func TestAnInterruptedOrKilledWriteArchiveLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	archive, image := filepath.Join(dir, "image.tar"), smallImage(t)
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := WriteArchive(interrupted, archive, "rpclab:v1", image); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want an interrupt", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("after an interrupt the directory has %v, want nothing", left)
	}
	if err := os.Mkdir(filepath.Join(dir, "rpclab-run-1"), 0o700); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	if err := WriteArchive(t.Context(), archive, "rpclab:v1", image); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "image.tar" {
		t.Errorf("after the next build the directory has %v, want only image.tar", left)
	}
}

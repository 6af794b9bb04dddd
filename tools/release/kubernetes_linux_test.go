package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// unzipped returns the files of an archive by their names.
func unzipped(t *testing.T, archive []byte) map[string]entry {
	t.Helper()
	text, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	return entries(t, text)
}

// The chart of a release is that of the source tree, with the version of the release, and packed twice it is the same.
func TestTheChartOfAReleaseHasItsVersion(t *testing.T) {
	const version = "1.2.3+dirty"
	built := program{version: version, time: time.Unix(1e9, 0)}
	var packed [2][]byte
	for i := range packed {
		file := filepath.Join(t.TempDir(), "chart.tgz")
		err := writeChart(file, "../..", built)
		if err == nil {
			packed[i], err = os.ReadFile(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("two charts of one release differ")
	}
	all := unzipped(t, packed[0])
	var chart struct {
		Name, Version string
		AppVersion    string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal(all["rpclab/Chart.yaml"].content, &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Name != "rpclab" || chart.Version != version || chart.AppVersion != version {
		t.Errorf("Chart.yaml is\n%s", all["rpclab/Chart.yaml"].content)
	}
	for _, name := range []string{"values.yaml", "values.schema.json", "permissions.yaml", "templates/_helpers.tpl", "templates/repeat.yaml"} {
		want, err := os.ReadFile(filepath.Join("../../deploy/chart", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(all["rpclab/"+name].content, want) {
			t.Errorf("the chart's %s is not that of the source tree", name)
		}
	}
	for name := range all {
		if strings.HasSuffix(name, ".go") {
			t.Errorf("the chart contains %s", name)
		}
	}
	if len(all["rpclab/LICENSE"].content) == 0 {
		t.Errorf("the chart has no licence: %v", slices.Sorted(maps.Keys(all)))
	}
}

// krew compares the checksum of the archive, installs its files, and links the program.
func TestTheManifestOfKrewFitsTheArchives(t *testing.T) {
	dir := t.TempDir()
	programs := []program{
		{path: "main.go", os: "linux", arch: "amd64", version: "1.2.3", time: time.Unix(0, 0)},
		{path: "build.go", os: "darwin", arch: "arm64", version: "1.2.3", time: time.Unix(0, 0)},
	}
	for _, p := range programs {
		if err := writeArchive(filepath.Join(dir, p.archive()), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	for url, prefix := range map[string]string{"": "", "https://example.org/v1.2.3": "https://example.org/v1.2.3/", "https://example.org/": "https://example.org/"} {
		file := filepath.Join(dir, "krew.yaml")
		if err := writeKrew(file, url, programs); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			Kind string
			Spec struct {
				Version   string
				Platforms []struct {
					Selector struct {
						MatchLabels map[string]string `yaml:"matchLabels"`
					}
					URI, SHA256, Bin string
				}
			}
		}
		if err := yaml.Unmarshal(text, &manifest); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if manifest.Kind != "Plugin" || manifest.Spec.Version != "v1.2.3" || len(manifest.Spec.Platforms) != len(programs) {
			t.Fatalf("the manifest is\n%s", text)
		}
		for i, p := range manifest.Spec.Platforms {
			of := programs[i]
			if want := map[string]string{"os": of.os, "arch": of.arch}; !maps.Equal(p.Selector.MatchLabels, want) || p.URI != prefix+of.archive() {
				t.Errorf("with the URL %q, %s is %+v", url, of.platform(), p)
			}
			archive, err := os.ReadFile(filepath.Join(dir, of.archive()))
			if err != nil {
				t.Fatal(err)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != p.SHA256 {
				t.Errorf("the checksum of %s is %s, and the manifest's %s", of.archive(), sum, p.SHA256)
			}
			if found := unzipped(t, archive)[p.Bin]; found.mode.Perm() != 0o755 {
				t.Errorf("%s has no program %s", of.archive(), p.Bin)
			}
		}
	}
}

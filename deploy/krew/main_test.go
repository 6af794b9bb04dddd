package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTheManifestFitsTheArchive(t *testing.T) {
	t.Chdir("../..") // the licences
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "rpclab")
	if err := os.WriteFile(own, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pack("v1.2.3", "https://example.org/v1.2.3/", dir, []string{"linux/amd64=" + own, "darwin/arm64=" + own}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "rpclab.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Kind string
		Spec struct {
			Version   string
			Platforms []platform
		}
	}
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Kind != "Plugin" || manifest.Spec.Version != "v1.2.3" || len(manifest.Spec.Platforms) != 2 {
		t.Fatalf("the manifest is\n%s", text)
	}
	p := manifest.Spec.Platforms[1]
	if p.Selector.MatchLabels["os"] != "darwin" || p.URI != "https://example.org/v1.2.3/kubectl-rpclab_v1.2.3_darwin_arm64.tar.gz" {
		t.Errorf("the second platform is %+v", p)
	}
	archive, err := os.ReadFile(filepath.Join(dir, filepath.Base(p.URI)))
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != p.SHA256 {
		t.Errorf("the checksum is %s, want %s", p.SHA256, sum)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for members := tar.NewReader(unpacked); ; {
		header, err := members.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
	}
	if len(p.Files) != 5 {
		t.Errorf("the files of the plugin are %v, want the program and four licences", p.Files)
	}
	for _, f := range p.Files {
		if modes[f.From] == 0 {
			t.Errorf("the archive has %v, and not the file %s of the manifest", modes, f.From)
		}
	}
	if modes[p.Bin] != 0o755 {
		t.Errorf("%s has the mode %o, want 755", p.Bin, modes[p.Bin])
	}
	if err := pack("v1", "https://example.org", dir, []string{"linux"}); err == nil {
		t.Error("a program without a path was accepted")
	}
}

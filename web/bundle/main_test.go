package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

func TestCommittedBundlesMatchTheirSources(t *testing.T) {
	if err := install(filepath.Join(root, "web")); err != nil {
		t.Fatal(err)
	}
	for _, b := range bundles {
		built, err := bundle(filepath.Join(root, "web", "src", b.entry))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(root, b.to))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(built, committed) {
			t.Errorf("%s differs from a bundle of web/src/%s: run `go generate ./web/bundle`", b.to, b.entry)
		}
	}
}

func TestTypeScriptTypeChecks(t *testing.T) {
	web, err := filepath.Abs(filepath.Join(root, "web"))
	if err != nil {
		t.Fatal(err)
	}
	if err := install(web); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(filepath.Join(web, "node_modules", ".bin", "tsc"), "-p", web).CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, output)
	}
}

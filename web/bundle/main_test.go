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

func TestWhatIsEmbeddedIsMadeOfTheSources(t *testing.T) {
	if err := install(filepath.Join(root, "web")); err != nil {
		t.Fatal(err)
	}
	for _, b := range bundles {
		made, err := bundle(filepath.Join(root, "web", "src", b.entry))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(root, b.to))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, committed) {
			t.Errorf("%s is not what web/src/%s gives: run `go generate ./web/bundle`", b.to, b.entry)
		}
	}
}

func TestTheTypesAreRight(t *testing.T) {
	web, err := filepath.Abs(filepath.Join(root, "web"))
	if err != nil {
		t.Fatal(err)
	}
	if err := install(web); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(filepath.Join(web, "node_modules", ".bin", "tsc"), "-p", web).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

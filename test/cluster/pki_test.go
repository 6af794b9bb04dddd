//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
)

// rpclab finds the command in the context: TestLoadCommandIsThatOfTheToolThatMadeTheCluster.
func TestAKubeconfigSaysHowImagesAreLoaded(t *testing.T) {
	ca, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := ca.kubeconfig(file, "https://127.0.0.1:1", "admin", "system:masters"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // up may find the cluster running
		if err := setLoadCommand(file, []string{"./load", "--all"}); err != nil {
			t.Fatal(err)
		}
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	extension, ok := config.Contexts[config.CurrentContext].Extensions["rpclab"].(*runtime.Unknown)
	if want := `{"load-image":["./load","--all"]}`; !ok || string(extension.Raw) != want {
		t.Errorf("the extension of the context is %+v, want %s", extension, want)
	}
}

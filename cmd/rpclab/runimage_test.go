package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/image"
	"rpclab/internal/language"
	"rpclab/internal/testkit"
	"rpclab/internal/tool"
)

// Arms in other languages cannot run on nodes of another architecture; the other arms still do.
func TestProgramsOfThisMachineAreLeftOutForNodesOfAnotherArchitecture(t *testing.T) {
	python, err := language.Lookup("python")
	if err != nil {
		t.Fatal(err)
	}
	built, missing, err := buildPrograms(t.Context(), []language.Language{python}, v1.Platform{OS: "linux", Architecture: "s390x"}, func(string) {})
	if err != nil || len(built) > 0 || !strings.Contains(missing["python"], "do not run on linux/s390x") {
		t.Errorf("built %v, missing %v, error %v; want Python to be missing because of linux/s390x", built, missing, err)
	}
}

// Nor can arms with a proxy.
func TestAProxyOfThisMachineIsLeftOutForNodesOfAnotherArchitecture(t *testing.T) {
	missing := map[string]string{}
	there := platformOf([]kubernetes.Node{{OS: "linux", Arch: "s390x"}})
	const want = "do not run on linux/s390x: push an image that `rpclab image build` makes on linux/s390x, and name it with --image"
	if available := withoutMissing([]tool.Tool{tool.Envoy}, there, missing); len(available) > 0 || !strings.HasSuffix(missing["envoy"], want) {
		t.Errorf("available %v, missing %v; want Envoy to be missing: %s", available, missing, want)
	}
	here := v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	if available := withoutMissing([]tool.Tool{tool.Nginx}, here, missing); len(available) != 1 || len(missing) != 1 {
		t.Errorf("available %v, missing %v; want nginx of this machine", available, missing)
	}
}

// The commands work when they are pasted: they keep every flag, and build for the nodes.
func TestAnImageThatCannotBeLoadedIsPushedAndTheCommandRepeatedWithIt(t *testing.T) {
	args := strings.Fields("lab up balancing --on=kubernetes --context prod --language python --cpus 0.2")
	const repeated = "\n  rpclab lab up balancing --on=kubernetes --context prod --language python --cpus 0.2 --image REGISTRY/rpclab:1"
	here, there := v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}, v1.Platform{OS: "linux", Architecture: "s390x"}
	for _, c := range []struct {
		contents image.Options
		want     string
	}{
		{image.Options{Platform: here, Tools: []tool.Tool{tool.Envoy, tool.Nginx}, Programs: []image.Programs{{Language: "python"}}},
			"\n  rpclab image build --with envoy,nginx --languages python --push REGISTRY/rpclab:1"},
		{image.Options{Platform: there}, "\n  rpclab image build --with '' --platform linux/s390x --push REGISTRY/rpclab:1"},
	} {
		if got := pushInstead("rpclab:1", c.contents, args); !strings.HasSuffix(got, c.want+repeated) {
			t.Errorf("the commands are:\n%s\nwant at the end:%s%s", got, c.want, repeated)
		}
	}
}

func TestThePlatformOfAnImageIsThatOfALinuxNode(t *testing.T) {
	const here = runtime.GOARCH
	node := func(system, architecture string) kubernetes.Node {
		return kubernetes.Node{OS: system, Arch: architecture}
	}
	tainted := func(architecture string) kubernetes.Node {
		return kubernetes.Node{OS: "linux", Arch: architecture, Unschedulable: true}
	}
	for name, test := range map[string]struct {
		nodes []kubernetes.Node
		want  string
	}{
		"nodes that rpclab may not list": {nil, here},
		"nodes of another architecture":  {[]kubernetes.Node{node("linux", "s390x"), node("linux", "s390x")}, "s390x"},
		"one like this machine":          {[]kubernetes.Node{node("linux", "s390x"), node("linux", here)}, here},
		"none like this machine":         {[]kubernetes.Node{node("linux", "s390x"), node("linux", "ppc64le")}, "s390x"},
		"Windows first":                  {[]kubernetes.Node{node("windows", here), node("linux", "s390x")}, "s390x"},
		"a control plane with a taint":   {[]kubernetes.Node{tainted(here), node("linux", "s390x")}, "s390x"},
		"only nodes with a taint":        {[]kubernetes.Node{tainted("s390x")}, "s390x"},
	} {
		if got := platformOf(test.nodes); got.OS != "linux" || got.Architecture != test.want {
			t.Errorf("%s: the platform is %s, want linux/%s", name, got, test.want)
		}
	}
}

func TestAnInterruptedLoadOfAnImageIsNoFailedLoad(t *testing.T) {
	dir := t.TempDir()
	began := filepath.Join(dir, "began")
	ctx, interrupt := context.WithCancel(t.Context())
	api, loaded := connected(t, oneNode(t, "c", "")), make(chan error)
	go func() {
		contents := image.Options{Program: "/bin/sh", Platform: v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}
		_, err := imageSource{load: "touch " + began + "; exec sleep 60; :"}.provide(ctx, api, contents, filepath.Join(dir, "image.tar"), newProgress(io.Discard, progressFlags{}))
		loaded <- err
	}()
	testkit.Await(t, "the command that loads the image", func() bool { _, err := os.Stat(began); return err == nil })
	interrupt()
	if err := <-loaded; !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "Push it") {
		t.Errorf("error %v, want an interrupt without advice", err)
	}
}

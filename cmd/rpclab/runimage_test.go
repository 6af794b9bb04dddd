package main

import (
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"rpclab/internal/language"
	"rpclab/internal/result"
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

func TestAProxyOfThisMachineForNodesOfAnotherArchitectureHasARemedy(t *testing.T) {
	t.Setenv("RPCLAB_IMAGE", "")
	needs := imageNeeds{tools: []string{"envoy"}, nodes: []result.Node{{OS: "linux", Arch: "s390x"}}, choose: "--arms"}
	_, _, err := imageSource{}.find(t.Context(), nil, needs, newProgress(io.Discard, progressFlags{}))
	const want = "do not run on linux/s390x: leave out what uses it with --arms, or push an image that `rpclab image build` makes on linux/s390x, and name it with --image"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want one that ends with %q", err, want)
	}
}

package main

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"rpclab/internal/language"
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

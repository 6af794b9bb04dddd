package service_test

import (
	"errors"
	"strings"
	"testing"

	"rpclab/internal/service"
	"rpclab/internal/service/method"
)

// TestRemediesOfServiceFilesNameFields reads every remedy with a flag that method has.
func TestRemediesOfServiceFilesNameFields(t *testing.T) {
	_, notThere := method.FromProto(t.Context(), []string{"testdata/imports.proto"}, nil)
	if notThere == nil || !strings.Contains(notThere.Error(), "--import-path") {
		t.Fatalf("the error of a file with an import that is not there is %v, want one that names --import-path", notThere)
	}
	if err := service.InFields(notThere); strings.Contains(err.Error(), "--") || !strings.Contains(err.Error(), "set import_paths in the service file to the directory of its imports") || !errors.Is(err, notThere) {
		t.Errorf("in a service file it is %v, want it to name import_paths", err)
	}
	for _, other := range []error{nil, errors.New("x")} {
		if err := service.InFields(other); err != other {
			t.Errorf("%v becomes %v", other, err)
		}
	}
}

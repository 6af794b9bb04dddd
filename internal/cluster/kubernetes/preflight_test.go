package kubernetes

import (
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
)

func TestPreflightErrorHasARoleWithAllMissingPermissions(t *testing.T) {
	denied := map[string]bool{}
	api := fakeObjects(t, func(wanted authorization.ResourceAttributes) bool {
		return !denied[wanted.Verb+" "+wanted.Group+"/"+wanted.Resource+"/"+wanted.Subresource]
	})
	api.config.Host = "https://api.example" // for the error; the client keeps its own
	if err := api.preflight(t.Context()); err != nil {
		t.Fatal(err)
	}
	denied["patch /namespaces/"], denied["create /pods/portforward"], denied["patch apps/deployments/scale"] = true, true, true
	err := api.preflight(t.Context())
	if err == nil {
		t.Fatal("preflight returned no error, want one for the denied permissions")
	}
	for _, want := range []string{"https://api.example", "kind: ClusterRole", "- namespaces\n  verbs:\n  - patch\n", "- pods/portforward", "- deployments/scale", "kubectl create clusterrolebinding"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "secrets") {
		t.Errorf("error %v\nnames secrets, which are allowed", err)
	}
}

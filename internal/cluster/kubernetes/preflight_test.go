package kubernetes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestTheErrorNamesMissingPermissionsAndHasTheWholeRole(t *testing.T) {
	denied := map[string]bool{}
	api := fakeObjects(t, func(wanted authorization.ResourceAttributes) bool {
		return !denied[wanted.Verb+" "+wanted.Group+"/"+wanted.Resource+"/"+wanted.Subresource]
	})
	api.config.Host = "https://api.example" // for the error; the client keeps its own
	if err := api.CheckPermissions(t.Context()); err != nil {
		t.Fatal(err)
	}
	denied["patch /namespaces/"], denied["create /pods/portforward"], denied["patch apps/deployments/scale"] = true, true, true
	err := api.CheckPermissions(t.Context())
	if err == nil {
		t.Fatal("CheckPermissions returned no error, want one for the denied permissions")
	}
	for _, want := range []string{
		"https://api.example", "a run needs: patch namespaces, create pods/portforward, patch deployments/scale\n",
		"kubectl create clusterrolebinding rpclab-NAME ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant %q in it", err, want)
		}
	}
	_, text, _ := strings.Cut(err.Error(), "\n\n")
	text, _, _ = strings.Cut(text, "\n\n")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	// An administrator may have applied an earlier role of this name, whose rules this one replaces.
	if diff := cmp.Diff(Permissions()[PermissionsOfRun], role.Rules); diff != "" || role.Kind != "ClusterRole" {
		t.Errorf("the %s has other rules (+) than a run needs (-):\n%s", role.Kind, diff)
	}
}

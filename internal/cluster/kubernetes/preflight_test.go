package kubernetes

import (
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	calls "k8s.io/client-go/testing"
)

func TestPreflightErrorHasARoleWithAllMissingPermissions(t *testing.T) {
	denied := map[string]bool{}
	set := fake.NewClientset()
	set.PrependReactor("create", "selfsubjectaccessreviews", func(action calls.Action) (bool, runtime.Object, error) {
		review := action.(calls.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview).DeepCopy()
		attributes := review.Spec.ResourceAttributes
		review.Status.Allowed = !denied[attributes.Verb+" "+attributes.Group+"/"+attributes.Resource+"/"+attributes.Subresource]
		return true, review, nil
	})
	api := &API{client: set, config: &rest.Config{Host: "https://api.example"}}
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

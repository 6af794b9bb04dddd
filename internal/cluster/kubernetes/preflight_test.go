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

func TestAllThatIsMissingIsToldAtOnceAsARole(t *testing.T) {
	denied := map[string]bool{}
	set := fake.NewClientset()
	set.PrependReactor("create", "selfsubjectaccessreviews", func(action calls.Action) (bool, runtime.Object, error) {
		review := action.(calls.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview).DeepCopy()
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !denied[asked.Verb+" "+asked.Group+"/"+asked.Resource+"/"+asked.Subresource]
		return true, review, nil
	})
	api := &API{client: set, config: &rest.Config{Host: "https://there"}}
	if err := api.preflight(t.Context()); err != nil {
		t.Fatal(err)
	}
	denied["patch /namespaces/"], denied["create /pods/portforward"], denied["patch apps/deployments/scale"] = true, true, true
	err := api.preflight(t.Context())
	if err == nil {
		t.Fatal("it continues without the right to")
	}
	for _, want := range []string{"https://there", "kind: ClusterRole", "- namespaces\n  verbs:\n  - patch\n", "- pods/portforward", "- deployments/scale", "kubectl create clusterrolebinding"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secrets") {
		t.Errorf("%v\nnames what is allowed", err)
	}
}

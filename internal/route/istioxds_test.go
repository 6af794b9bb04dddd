package route

import (
	"encoding/json"
	"os"
	"testing"
)

// istiod reads the domain of a client in the ID of its node.
func TestIstioLearnsTheDomainOfTheCluster(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text, err := istioBootstrap("lab", "lab.svc.k8s.example", "10.0.0.7")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap struct{ Node struct{ ID string } }
	if err := json.Unmarshal(text, &bootstrap); err != nil {
		t.Fatal(err)
	}
	if want := "sidecar~10.0.0.7~" + host + ".lab~lab.svc.k8s.example"; bootstrap.Node.ID != want {
		t.Errorf("the node of the client is %s, want %s", bootstrap.Node.ID, want)
	}
}

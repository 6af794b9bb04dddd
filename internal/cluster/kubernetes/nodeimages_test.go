package kubernetes

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node is a Linux node of an architecture that reports images.
func node(name, architecture string, images ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: architecture}
	for _, image := range images {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{image}})
	}
	return n
}

func TestNodesThatLackAnImage(t *testing.T) {
	windows := node("w1", "amd64")
	windows.Status.NodeInfo.OperatingSystem = "windows"
	tainted := node("c1", "amd64")
	tainted.Spec.Taints = []corev1.Taint{{Effect: corev1.TaintEffectNoSchedule}}
	full := node("n1", "amd64")
	for i := range mostImages {
		full.Status.Images = append(full.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprint("other:", i)}})
	}
	for name, test := range map[string]struct {
		nodes   []object
		lacking []string
		known   bool
	}{
		"none, as containerd reports it":    {[]object{node("n1", "amd64", "docker.io/library/rpclab:1")}, nil, true},
		"none, as Docker reports it":        {[]object{node("n1", "amd64", "rpclab:1")}, nil, true},
		"another version":                   {[]object{node("n1", "amd64", "docker.io/library/rpclab:2")}, []string{"n1"}, true},
		"one of two":                        {[]object{node("n1", "amd64", "rpclab:1"), node("n2", "amd64")}, []string{"n2"}, true},
		"only nodes that do not run it":     {[]object{windows, tainted, node("n1", "arm64")}, nil, true},
		"one that does not report them all": {[]object{full}, nil, false},
	} {
		lacking, known := fakeObjects(t, nil, test.nodes...).LacksImage(t.Context(), "docker.io/library/rpclab:1", "amd64")
		if !slices.Equal(lacking, test.lacking) || known != test.known {
			t.Errorf("%s: %q lack the image (known: %t), want %q (known: %t)", name, lacking, known, test.lacking, test.known)
		}
	}
}

// The image of a run has the platform of nodes where its pods run.
func TestNodesWhereNoPodOfARunIsScheduled(t *testing.T) {
	tainted, cordoned, avoided := node("c1", "amd64"), node("n1", "amd64"), node("n2", "arm64")
	tainted.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	cordoned.Spec.Unschedulable = true
	avoided.Spec.Taints = []corev1.Taint{{Effect: corev1.TaintEffectPreferNoSchedule}}
	var got []bool
	for _, n := range fakeObjects(t, nil, tainted, cordoned, avoided, node("n3", "arm64")).Nodes(t.Context()) {
		got = append(got, n.Unschedulable)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("unschedulable are %v, want %v", got, want)
	}
}

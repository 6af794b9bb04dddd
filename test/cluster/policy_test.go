//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// testPods are pods of two namespaces, in the order of their addresses, all on the node 10.0.0.1.
func testPods() objects {
	o := objects{namespaces: []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "other"}}},
	}}
	for i, at := range []string{"shop/server", "shop/client", "other/client"} {
		namespace, app, _ := strings.Cut(at, "/")
		o.pods = append(o.pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "grpc", ContainerPort: 50051, Protocol: corev1.ProtocolTCP}}}}},
			Status:     corev1.PodStatus{HostIP: "10.0.0.1", PodIP: fmt.Sprint("10.1.0.", i+1)},
		})
	}
	return o
}

// TestRulesOfPolicies checks what each policy of the namespace shop permits, and that nft accepts the rules.
func TestRulesOfPolicies(t *testing.T) {
	for spec, want := range map[string][]string{
		// The server accepts nothing.
		"{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress]}": {
			"chain to_10.1.0.1 {", "ip saddr 10.1.0.1 return", "reject"},
		// All pods of the namespace accept calls from each other, as those of a run do.
		"{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}": {
			"chain to_10.1.0.1 {", "ip saddr 10.1.0.1 return", "ip saddr { 10.1.0.1, 10.1.0.2 } return", "reject",
			"chain to_10.1.0.2 {", "ip saddr 10.1.0.2 return", "ip saddr { 10.1.0.1, 10.1.0.2 } return", "reject"},
		// From everybody to one port, and to a port by its name.
		"{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress], ingress: [{ports: [{protocol: TCP, port: 50051}, {protocol: TCP, port: grpc}, {protocol: TCP, port: none}]}]}": {
			"chain to_10.1.0.1 {", "ip saddr 10.1.0.1 return", "tcp dport 50051 return", "tcp dport 50051 return", "reject"},
		// From pods of another namespace, and from nobody, since no pod is so.
		"{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: other}}, podSelector: {matchLabels: {app: client}}}, {podSelector: {matchLabels: {app: none}}}]}]}": {
			"chain to_10.1.0.1 {", "ip saddr 10.1.0.1 return", "ip saddr { 10.1.0.3 } return", "reject"},
		// To some addresses and ports only.
		"{podSelector: {matchLabels: {app: client}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/24]}}], ports: [{protocol: UDP, port: 50, endPort: 60}, {protocol: TCP}]}]}": {
			"chain from_10.1.0.2 {", "ip daddr 10.1.0.2 return",
			"ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/24 } udp dport 50-60 return",
			"ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/24 } meta l4proto tcp return", "reject"},
	} {
		var policy networkingv1.NetworkPolicy
		if err := yaml.UnmarshalStrict([]byte("{metadata: {name: one, namespace: shop}, spec: "+spec+"}"), &policy); err != nil {
			t.Fatal(err)
		}
		o := testPods()
		o.policies = []*networkingv1.NetworkPolicy{&policy}
		rules := o.rules("10.0.0.1")
		var got []string
		for line := range strings.Lines(rules[:strings.Index(rules, "chain forward")]) {
			if line = strings.TrimSpace(line); line != "" && line != "}" && !strings.Contains(line, "table") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", spec, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if unknown := "ip saddr 198.18.0.0/17 ip saddr != { 10.1.0.1, 10.1.0.2, 10.1.0.3 } accept"; !strings.Contains(rules, unknown) {
			t.Errorf("%s: no rule %q:\n%s", spec, unknown, rules)
		}
		if other := o.rules("10.0.0.2"); strings.Contains(other, "jump") {
			t.Errorf("the node without pods has rules:\n%s", other)
		}
		check := exec.CommandContext(context.WithoutCancel(t.Context()), "nft", "--check", "-f", "-")
		check.Stdin = strings.NewReader(rules)
		if err := output(check); err != nil {
			t.Errorf("%v\n%s", err, rules)
		}
	}
}

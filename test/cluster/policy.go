//go:build linux

package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// objects are what the rules of NetworkPolicies depend on.
type objects struct {
	policies   []*networkingv1.NetworkPolicy
	pods       []*corev1.Pod
	namespaces []*corev1.Namespace
}

// sort makes equal objects give equal rules.
func (o objects) sort() {
	byName := func(a, b metav1.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	}
	slices.SortFunc(o.policies, func(a, b *networkingv1.NetworkPolicy) int { return byName(a, b) })
	slices.SortFunc(o.pods, func(a, b *corev1.Pod) int { return byName(a, b) })
}

// rules returns the rules of nftables for the pods of a node. They apply to forwarded packets, which are those
// between pods, and between a pod and another machine. So a node always reaches its own pods. They come after
// the translation of a ClusterIP to the address of a pod. They admit pods whose address is not known yet.
func (o objects) rules(nodeIP string) string {
	var forward, chains strings.Builder
	var known []string
	for _, pod := range o.pods {
		if hasNetwork(pod) {
			known = append(known, pod.Status.PodIP)
		}
		if pod.Status.HostIP != nodeIP || !hasNetwork(pod) {
			continue
		}
		for _, d := range directions {
			chosen := o.policiesOf(pod, d.kind)
			if len(chosen) == 0 {
				continue // the pod is not isolated
			}
			chain := d.chain + pod.Status.PodIP
			fmt.Fprintf(&forward, "    ip %s %s jump %s\n", d.own, pod.Status.PodIP, chain)
			fmt.Fprintf(&chains, "  chain %s {\n    ip %s %s return\n", chain, d.peer, pod.Status.PodIP) // to itself, by a Service
			for _, policy := range chosen {
				for _, rule := range d.rules(policy) {
					for _, line := range o.lines(policy.Namespace, pod, d.peer, rule) {
						fmt.Fprintf(&chains, "    %s\n", line)
					}
				}
			}
			chains.WriteString("    reject\n  }\n")
		}
	}
	admitted := ""
	if forward.Len() > 0 {
		admitted = fmt.Sprintf("    ip saddr %s ip saddr != { %s } accept\n", podRange, strings.Join(known, ", "))
	}
	return fmt.Sprintf(`table ip rpclab-policies
delete table ip rpclab-policies
table ip rpclab-policies {
%s  chain forward {
    type filter hook forward priority filter; policy accept;
    ct state established,related accept
%s%s  }
}
`, chains.String(), admitted, forward.String())
}

// allowed is a rule of a policy: one of the peers and one of the ports. Empty: any.
type allowed struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// directions are ingress and egress: where a packet has the addresses of the pod and of its peer.
var directions = []struct {
	kind             networkingv1.PolicyType
	chain, own, peer string
	rules            func(*networkingv1.NetworkPolicy) []allowed
}{
	{networkingv1.PolicyTypeEgress, "from_", "saddr", "daddr", func(p *networkingv1.NetworkPolicy) (all []allowed) {
		for _, rule := range p.Spec.Egress {
			all = append(all, allowed{rule.To, rule.Ports})
		}
		return all
	}},
	{networkingv1.PolicyTypeIngress, "to_", "daddr", "saddr", func(p *networkingv1.NetworkPolicy) (all []allowed) {
		for _, rule := range p.Spec.Ingress {
			all = append(all, allowed{rule.From, rule.Ports})
		}
		return all
	}},
}

// policiesOf returns the policies that isolate a pod in one direction. The API server sets policyTypes.
func (o objects) policiesOf(pod *corev1.Pod, kind networkingv1.PolicyType) (chosen []*networkingv1.NetworkPolicy) {
	for _, policy := range o.policies {
		if policy.Namespace == pod.Namespace && slices.Contains(policy.Spec.PolicyTypes, kind) && selects(&policy.Spec.PodSelector, pod.Labels) {
			chosen = append(chosen, policy)
		}
	}
	return chosen
}

// lines returns what a rule of a policy permits to a pod. Packets that return from the chain are permitted.
func (o objects) lines(namespace string, pod *corev1.Pod, peerAddress string, rule allowed) (lines []string) {
	from := []string{""}
	if len(rule.peers) > 0 {
		from = nil
	}
	for _, peer := range rule.peers {
		if match := o.match(namespace, peerAddress, peer); match != "" {
			from = append(from, match)
		}
	}
	ports := []string{""}
	if len(rule.ports) > 0 {
		ports = nil
	}
	for _, port := range rule.ports {
		if match := portMatch(pod, port); match != "" {
			ports = append(ports, match)
		}
	}
	for _, a := range from {
		for _, b := range ports {
			lines = append(lines, a+b+"return")
		}
	}
	return lines
}

// match matches the addresses of a peer; empty: it has none.
func (o objects) match(namespace, address string, peer networkingv1.NetworkPolicyPeer) string {
	if block := peer.IPBlock; block != nil {
		if prefix, err := netip.ParsePrefix(block.CIDR); err != nil || !prefix.Addr().Is4() {
			return ""
		}
		match := fmt.Sprintf("ip %s %s ", address, block.CIDR)
		if len(block.Except) > 0 {
			match += fmt.Sprintf("ip %s != { %s } ", address, strings.Join(block.Except, ", "))
		}
		return match
	}
	var ips []string
	for _, pod := range o.pods {
		if hasNetwork(pod) && o.inNamespace(namespace, pod, peer.NamespaceSelector) && (peer.PodSelector == nil || selects(peer.PodSelector, pod.Labels)) {
			ips = append(ips, pod.Status.PodIP)
		}
	}
	if ips == nil {
		return ""
	}
	return fmt.Sprintf("ip %s { %s } ", address, strings.Join(ips, ", "))
}

// inNamespace says whether a pod is in a namespace that the selector selects; without one, in that of the policy.
func (o objects) inNamespace(own string, pod *corev1.Pod, selector *metav1.LabelSelector) bool {
	if selector == nil {
		return pod.Namespace == own
	}
	return slices.ContainsFunc(o.namespaces, func(n *corev1.Namespace) bool { return n.Name == pod.Namespace && selects(selector, n.Labels) })
}

// portMatch matches a port; empty: no packet has it. Names are those of ports of the isolated pod, so a name in an
// egress rule, which is that of another pod's port, matches nothing.
func portMatch(pod *corev1.Pod, port networkingv1.NetworkPolicyPort) string {
	protocol := strings.ToLower(string(ptr.Deref(port.Protocol, corev1.ProtocolTCP)))
	switch {
	case port.Port == nil:
		return fmt.Sprintf("meta l4proto %s ", protocol)
	case port.EndPort != nil:
		return fmt.Sprintf("%s dport %d-%d ", protocol, port.Port.IntVal, *port.EndPort)
	case port.Port.Type == intstr.Int:
		return fmt.Sprintf("%s dport %d ", protocol, port.Port.IntVal)
	}
	for _, container := range pod.Spec.Containers {
		for _, named := range container.Ports {
			if named.Name == port.Port.StrVal && strings.EqualFold(string(named.Protocol), protocol) {
				return fmt.Sprintf("%s dport %d ", protocol, named.ContainerPort)
			}
		}
	}
	return ""
}

// hasNetwork says whether a pod has an address that no other has.
func hasNetwork(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && !pod.Spec.HostNetwork && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(of))
}

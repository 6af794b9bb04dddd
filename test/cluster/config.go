//go:build linux

package main

import (
	"bytes"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed config
var templates embed.FS

// maxEndpointsPerSlice is the largest number that Kubernetes accepts.
const maxEndpointsPerSlice = 1000

// shape is what a cluster can differ in.
type shape struct {
	nodes             int
	endpointsPerSlice int // at most, in an EndpointSlice
}

// values are the data for the templates in config/.
type values struct{ Name, Pods, Cgroup, DNS, Host, Port, Authority string }

// render executes a template of config/ and writes the result.
func render(from, to string, v values) error {
	parsed, err := template.ParseFS(templates, "config/"+from)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, v); err != nil {
		return err
	}
	return os.WriteFile(to, text.Bytes(), 0o600)
}

// configureControlPlane writes the configuration files of the control plane.
func configureControlPlane(dir string, ca authority) error {
	etc := filepath.Join(dir, "etc")
	serving, err := ca.issue("kube-apiserver", "", apiHost, "127.0.0.1", "localhost", firstService,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	calling, err := ca.issue("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	tokens, err := ca.issue("service-accounts", "")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&tokens.key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(
		ca.save(etc, "ca"), serving.save(etc, "apiserver"), calling.save(etc, "kubelet-client"), tokens.save(etc, "tokens"),
		os.WriteFile(filepath.Join(etc, "tokens.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600),
		ca.kubeconfig(filepath.Join(etc, "kube-controller-manager.kubeconfig"), "https://"+apiAddress, "system:kube-controller-manager", ""),
		ca.kubeconfig(filepath.Join(etc, "kube-scheduler.kubeconfig"), "https://"+apiAddress, "system:kube-scheduler", ""),
		ca.kubeconfig(filepath.Join(etc, "admin.kubeconfig"), "https://"+apiAddress, "admin", "system:masters"),
	)
}

// configureNode writes the configuration files of a node.
func configureNode(dir, cluster string, n node, ca authority) error {
	etc, plugins := filepath.Join(dir, "etc"), filepath.Join(dir, "lib", "cni", "bin")
	if err := errors.Join(os.MkdirAll(filepath.Join(etc, "cni"), 0o755), os.MkdirAll(plugins, 0o755)); err != nil {
		return err
	}
	// A directory of the node's own, to which a mesh can add its plugin.
	for _, plugin := range []string{"host-local", "loopback", "ptp"} {
		if err := os.Symlink(filepath.Join("/usr/lib/cni", plugin), filepath.Join(plugins, plugin)); err != nil {
			return err
		}
	}
	serving, err := ca.issue("system:node:"+n.name, "system:nodes", n.name, n.ip)
	if err != nil {
		return err
	}
	authorityCert, _, err := ca.pem()
	if err != nil {
		return err
	}
	v := values{Name: n.name, Pods: n.pods, Cgroup: cgroupOf(cluster), DNS: dnsService}
	return errors.Join(
		os.WriteFile(filepath.Join(etc, "ca.crt"), authorityCert, 0o600),
		serving.save(etc, "kubelet"),
		ca.kubeconfig(filepath.Join(etc, "kubelet.kubeconfig"), "https://"+apiAddress, "system:node:"+n.name, "system:nodes"),
		ca.kubeconfig(filepath.Join(etc, "kube-proxy.kubeconfig"), "https://"+apiAddress, "system:kube-proxy", ""),
		os.WriteFile(filepath.Join(etc, "resolv.conf"), nil, 0o644),
		render("containerd.toml", filepath.Join(etc, "containerd.toml"), v),
		render("kubelet.yaml", filepath.Join(etc, "kubelet.yaml"), v),
		render("kube-proxy.yaml", filepath.Join(etc, "kube-proxy.yaml"), v),
		render("cni.conflist", filepath.Join(etc, "cni", "10-rpclab.conflist"), v),
	)
}

// The first programs of the control plane, and the clients of their API.
var apiPrograms = []order{
	{"etcd", "--name=rpclab", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=rpclab=http://127.0.0.1:2380"},
	{"kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=" + apiHost, "--advertise-address=" + apiHost,
		"--service-cluster-ip-range=" + serviceRange, "--allow-privileged",
		// Call webhooks at the pods of their Service, because its ClusterIP exists on nodes only.
		"--enable-aggregator-routing",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=/var/etc/ca.crt", "--tls-cert-file=/var/etc/apiserver.crt", "--tls-private-key-file=/var/etc/apiserver.key",
		"--kubelet-certificate-authority=/var/etc/ca.crt", "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=/var/etc/kubelet-client.crt", "--kubelet-client-key=/var/etc/kubelet-client.key",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=/var/etc/tokens.pub", "--service-account-signing-key-file=/var/etc/tokens.key"},
}

func controllerPrograms(endpointsPerSlice int) []order {
	return []order{
		controller("kube-controller-manager", "--use-service-account-credentials", "--root-ca-file=/var/etc/ca.crt",
			"--service-account-private-key-file=/var/etc/tokens.key", fmt.Sprint("--max-endpoints-per-slice=", endpointsPerSlice),
			// Detect a dead node after 16 s instead of 50.
			"--node-monitor-period=2s", "--node-monitor-grace-period=16s"),
		controller("kube-scheduler"),
	}
}

func controller(name string, more ...string) order {
	file := "/var/etc/" + name + ".kubeconfig"
	return append(order{name, "--kubeconfig=" + file, "--authentication-kubeconfig=" + file, "--authorization-kubeconfig=" + file,
		"--bind-address=127.0.0.1", "--leader-elect=false",
		// With the default of 20 requests per second a new cluster takes 6 s longer.
		"--kube-api-qps=200", "--kube-api-burst=400"}, more...)
}

// The programs of a node: containerd first, then its clients.
var containerPrograms = []order{{"containerd", "--config=/var/etc/containerd.toml"}}

func nodePrograms(n node) []order {
	return []order{
		{"kubelet", "--config=/var/etc/kubelet.yaml", "--kubeconfig=/var/etc/kubelet.kubeconfig", "--hostname-override=" + n.name, "--node-ip=" + n.ip},
		{"kube-proxy", "--config=/var/etc/kube-proxy.yaml"},
	}
}

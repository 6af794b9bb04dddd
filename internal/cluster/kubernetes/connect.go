package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"
)

// Where says which cluster.
type Where struct {
	Kubeconfig string // path; empty: as kubectl finds it
	Context    string // of the kubeconfig; empty: its current one
}

// API is the way to a Kubernetes.
type API struct {
	client  client.Interface
	dynamic dynamic.Interface
	config  *rest.Config
	// Version is the server's: v1.34.4.
	Version string
}

// Close closes the connections that nobody uses. Clients of the same configuration share
// them.
func (a *API) Close() {
	if transport, err := rest.TransportFor(a.config); err == nil {
		utilnet.CloseIdleConnectionsFor(transport)
	}
}

// reach is how long the API server may take to say that it is there.
const reach = 10 * time.Second

// Connect finds the cluster and asks it for its version.
func Connect(w Where) (*API, error) {
	klog.SetLogger(logr.Discard()) // client-go's own log would run into ours
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = w.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: w.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no Kubernetes is configured: set KUBECONFIG or --kubeconfig to the file that kubectl uses")
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200 // a run asks for little, but for that at once
	config.UserAgent = manager
	a := &API{config: config}
	if a.client, err = client.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	if a.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	quick := rest.CopyConfig(config)
	quick.Timeout = reach
	asking, err := client.NewForConfig(quick)
	if err != nil {
		return nil, err
	}
	version, err := asking.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("no Kubernetes answers at %s: %w\nSee whether `kubectl version` reaches it; --kubeconfig and --context choose another one", config.Host, err)
	}
	a.Version = version.GitVersion
	return a, nil
}

// Node is a machine of the cluster.
type Node struct {
	OS, Arch string
	CPUs     int
	Memory   uint64 // bytes
}

// Nodes are those of the cluster; none: this user may not see them, or not in time.
func (a *API) Nodes(ctx context.Context) (all []Node) {
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	list, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil // it is for people, and no run needs it
	}
	for _, n := range list.Items {
		all = append(all, Node{
			OS: n.Status.NodeInfo.OperatingSystem, Arch: n.Status.NodeInfo.Architecture,
			CPUs: int(n.Status.Capacity.Cpu().Value()), Memory: uint64(n.Status.Capacity.Memory().Value()),
		})
	}
	return all
}

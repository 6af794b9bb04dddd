package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"

	"rpclab/internal/cluster/kubernetes/clientset"
)

// ClientConfig selects a cluster.
type ClientConfig struct {
	Kubeconfig string // path; empty: as kubectl finds it
	Context    string // of the kubeconfig; empty: its current one
}

// API is a connection to a Kubernetes cluster.
type API struct {
	client  *clientset.Clientset
	dynamic dynamic.Interface
	config  *rest.Config
	// Version of the API server: v1.34.4.
	Version string
	// Context of the kubeconfig; empty: the connection needs none.
	Context string
	// LoadCommand loads the image archive that follows it into all nodes; nil: not known.
	LoadCommand []string
}

// Close closes idle connections, which clients of the same configuration share.
func (a *API) Close() {
	if transport, err := rest.TransportFor(a.config); err == nil {
		utilnet.CloseIdleConnectionsFor(transport)
	}
}

// connectTimeout is how long the API server may take to answer.
const connectTimeout = 10 * time.Second

// ErrNotConfigured is the error of [Connect] if there is no kubeconfig, and this process is in no pod of a cluster.
var ErrNotConfigured = errors.New("no Kubernetes is configured: set KUBECONFIG or --kubeconfig to the file that kubectl uses")

// ErrKubeconfig is the error of [Connect] if it cannot use the kubeconfig or the context that were selected.
var ErrKubeconfig = errors.New("read the kubeconfig")

// Connect finds the cluster and reads its version.
func Connect(ctx context.Context, selected ClientConfig) (*API, error) {
	klog.SetLogger(logr.Discard()) // client-go's log would mix with ours
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = selected.Kubeconfig
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: selected.Context})
	config, err := found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		if raw, err := found.RawConfig(); err == nil && len(raw.Contexts) > 0 {
			return nil, fmt.Errorf("%w: it has no current context; --context selects one of %s", ErrKubeconfig, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
		}
		return nil, ErrNotConfigured
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; --kubeconfig selects the file, and --context one of those that `kubectl config get-contexts` lists", ErrKubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200 // a run sends few requests, in bursts
	config.UserAgent = manager
	api := &API{config: config}
	if raw, err := found.RawConfig(); err == nil { // within a cluster there is none
		api.Context = cmp.Or(selected.Context, raw.CurrentContext)
		api.LoadCommand = loadCommand(raw, api.Context)
	}
	if api.client, err = clientset.New(config); err != nil {
		return nil, fmt.Errorf("invalid kubeconfig: %w", err)
	}
	if api.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("invalid kubeconfig: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	version, err := api.client.ServerVersion(limited)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case apierrors.IsUnauthorized(err): // also for what anybody may read, if a token has expired
		return nil, fmt.Errorf("the Kubernetes at %s refuses the credentials of the kubeconfig: %w\nCheck them with `kubectl auth whoami`, or select another cluster with --kubeconfig and --context", config.Host, err)
	case err != nil:
		return nil, fmt.Errorf("no Kubernetes answers at %s: %w\nCheck it with `kubectl version`, or select another cluster with --kubeconfig and --context", config.Host, err)
	}
	api.Version = version.GitVersion
	return api, nil
}

// Node is a machine of the cluster.
type Node struct {
	OS, Arch string
	CPUs     int
	Memory   uint64 // bytes
	// Unschedulable says that pods of a run do not run there: the node is cordoned or has a taint.
	Unschedulable bool
}

// Nodes are the nodes of the cluster; none without permission, or when the API is too slow.
func (a *API) Nodes(ctx context.Context) (all []Node) {
	listed, _ := a.listNodes(ctx) // only for information
	for _, node := range listed {
		all = append(all, Node{
			OS: node.Status.NodeInfo.OperatingSystem, Arch: node.Status.NodeInfo.Architecture,
			CPUs: int(node.Status.Capacity.Cpu().Value()), Memory: uint64(node.Status.Capacity.Memory().Value()),
			Unschedulable: !runsPods(node),
		})
	}
	return all
}

// listNodes lists the nodes of the cluster, if this user may and the API answers in time.
func (a *API) listNodes(ctx context.Context) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	list, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// runsPods reports whether a node accepts pods that tolerate no taint.
func runsPods(node corev1.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	})
}

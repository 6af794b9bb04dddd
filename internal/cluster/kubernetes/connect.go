package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// needed is what a run cannot do without.
var needed = []authorization.ResourceAttributes{
	{Verb: "create", Resource: "namespaces"},
	{Verb: "delete", Resource: "namespaces"},
	{Verb: "create", Group: "apps", Resource: "deployments"},
	{Verb: "create", Group: "batch", Resource: "jobs"},
	{Verb: "create", Resource: "pods", Subresource: "portforward"},
	{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "roles"},
}

// preflight asks whether this user may do what a run does.
func (a *API) preflight(ctx context.Context) error {
	var denied []string
	for _, n := range needed {
		review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &n}}
		answer, err := a.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask what this user may do: %w", err)
		}
		if !answer.Status.Allowed {
			what := n.Resource
			if n.Subresource != "" {
				what += "/" + n.Subresource
			}
			if n.Group != "" {
				what = n.Resource + "." + n.Group
			}
			denied = append(denied, fmt.Sprintf("  kubectl auth can-i %s %s --all-namespaces", n.Verb, what))
		}
	}
	if len(denied) == 0 {
		return nil
	}
	return fmt.Errorf("this user of %s may not do what a run needs; its administrator has to allow that these say yes:\n%s",
		a.config.Host, strings.Join(denied, "\n"))
}

// Package clientset is client-go's typed client for the resources that rpclab uses. The clientset of client-go contains
// those of all API groups, which made a fifth of the program and of its first build.
package clientset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// groups are the API groups that rpclab uses, with the functions that add their types to a scheme.
var groups = map[schema.GroupVersion]func(*runtime.Scheme) error{
	appsv1.SchemeGroupVersion:          appsv1.AddToScheme,
	authorizationv1.SchemeGroupVersion: authorizationv1.AddToScheme,
	autoscalingv1.SchemeGroupVersion:   autoscalingv1.AddToScheme, // Scale, which patches of the subresource scale return
	autoscalingv2.SchemeGroupVersion:   autoscalingv2.AddToScheme,
	batchv1.SchemeGroupVersion:         batchv1.AddToScheme,
	coordinationv1.SchemeGroupVersion:  coordinationv1.AddToScheme,
	corev1.SchemeGroupVersion:          corev1.AddToScheme,
	discoveryv1.SchemeGroupVersion:     discoveryv1.AddToScheme,
	networkingv1.SchemeGroupVersion:    networkingv1.AddToScheme,
	policyv1.SchemeGroupVersion:        policyv1.AddToScheme,
	rbacv1.SchemeGroupVersion:          rbacv1.AddToScheme,
}

// Scheme has the types of the groups.
var (
	Scheme     = newScheme()
	codecs     = serializer.NewCodecFactory(Scheme)
	parameters = runtime.NewParameterCodec(Scheme)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range groups {
		_ = add(scheme) // fails only for two types of one name
	}
	return scheme
}

// Clientset is a connection to an API server.
type Clientset struct {
	clients map[schema.GroupVersion]rest.Interface
}

// New returns a clientset. It makes no request.
func New(config *rest.Config) (*Clientset, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewWithClient(config, client)
}

// NewWithClient returns a clientset that makes its requests with client. All groups share the rate limit of config.
func NewWithClient(config *rest.Config, client *http.Client) (*Clientset, error) {
	set := &Clientset{clients: map[schema.GroupVersion]rest.Interface{}}
	shared := rest.CopyConfig(config)
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	for group := range groups {
		own := rest.CopyConfig(shared)
		own.GroupVersion, own.APIPath = &group, "/apis"
		if group == corev1.SchemeGroupVersion {
			own.APIPath = "/api"
		}
		own.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(Scheme, codecs).WithoutConversion()
		var err error
		if set.clients[group], err = rest.RESTClientForConfigAndClient(own, client); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// ServerVersion returns the version of the API server.
func (c *Clientset) ServerVersion(ctx context.Context) (found version.Info, err error) {
	text, err := c.clients[corev1.SchemeGroupVersion].Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return found, fmt.Errorf("the version of the server: %w", err)
	}
	return found, nil
}

package clientset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/rest"
)

// The objects of each resource.
type (
	Deployments              = Objects[*appsv1.Deployment, *appsv1.DeploymentList]
	DaemonSets               = Objects[*appsv1.DaemonSet, *appsv1.DaemonSetList]
	Autoscalers              = Objects[*autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscalerList]
	Jobs                     = Objects[*batchv1.Job, *batchv1.JobList]
	Leases                   = Objects[*coordinationv1.Lease, *coordinationv1.LeaseList]
	Namespaces               = Objects[*corev1.Namespace, *corev1.NamespaceList]
	Nodes                    = Objects[*corev1.Node, *corev1.NodeList]
	Services                 = Objects[*corev1.Service, *corev1.ServiceList]
	Secrets                  = Objects[*corev1.Secret, *corev1.SecretList]
	ConfigMaps               = Objects[*corev1.ConfigMap, *corev1.ConfigMapList]
	ServiceAccounts          = Objects[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	Events                   = Objects[*corev1.Event, *corev1.EventList]
	SelfSubjectAccessReviews = Objects[*authorizationv1.SelfSubjectAccessReview, *authorizationv1.SelfSubjectAccessReview]
	EndpointSlices           = Objects[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
)

// Apps is the group apps/v1.
type Apps struct{ client rest.Interface }

// AppsV1 returns the group apps/v1.
func (c *Clientset) AppsV1() Apps { return Apps{c.clients[appsv1.SchemeGroupVersion]} }

// Deployments of a namespace.
func (g Apps) Deployments(namespace string) Deployments {
	return objects[appsv1.Deployment, appsv1.DeploymentList](g.client, "deployments", namespace)
}

// DaemonSets of a namespace.
func (g Apps) DaemonSets(namespace string) DaemonSets {
	return objects[appsv1.DaemonSet, appsv1.DaemonSetList](g.client, "daemonsets", namespace)
}

// Authorization is the group authorization.k8s.io/v1.
type Authorization struct{ client rest.Interface }

// AuthorizationV1 returns the group authorization.k8s.io/v1.
func (c *Clientset) AuthorizationV1() Authorization {
	return Authorization{c.clients[authorizationv1.SchemeGroupVersion]}
}

// SelfSubjectAccessReviews can be created, and neither read nor listed.
func (g Authorization) SelfSubjectAccessReviews() SelfSubjectAccessReviews {
	return objects[authorizationv1.SelfSubjectAccessReview, authorizationv1.SelfSubjectAccessReview](g.client, "selfsubjectaccessreviews", "")
}

// Autoscaling is the group autoscaling/v2.
type Autoscaling struct{ client rest.Interface }

// AutoscalingV2 returns the group autoscaling/v2.
func (c *Clientset) AutoscalingV2() Autoscaling {
	return Autoscaling{c.clients[autoscalingv2.SchemeGroupVersion]}
}

// HorizontalPodAutoscalers of a namespace.
func (g Autoscaling) HorizontalPodAutoscalers(namespace string) Autoscalers {
	return objects[autoscalingv2.HorizontalPodAutoscaler, autoscalingv2.HorizontalPodAutoscalerList](g.client, "horizontalpodautoscalers", namespace)
}

// Batch is the group batch/v1.
type Batch struct{ client rest.Interface }

// BatchV1 returns the group batch/v1.
func (c *Clientset) BatchV1() Batch { return Batch{c.clients[batchv1.SchemeGroupVersion]} }

// Jobs of a namespace.
func (g Batch) Jobs(namespace string) Jobs {
	return objects[batchv1.Job, batchv1.JobList](g.client, "jobs", namespace)
}

// Coordination is the group coordination.k8s.io/v1.
type Coordination struct{ client rest.Interface }

// CoordinationV1 returns the group coordination.k8s.io/v1.
func (c *Clientset) CoordinationV1() Coordination {
	return Coordination{c.clients[coordinationv1.SchemeGroupVersion]}
}

// Leases of a namespace.
func (g Coordination) Leases(namespace string) Leases {
	return objects[coordinationv1.Lease, coordinationv1.LeaseList](g.client, "leases", namespace)
}

// Discovery is the group discovery.k8s.io/v1.
type Discovery struct{ client rest.Interface }

// DiscoveryV1 returns the group discovery.k8s.io/v1.
func (c *Clientset) DiscoveryV1() Discovery {
	return Discovery{c.clients[discoveryv1.SchemeGroupVersion]}
}

// EndpointSlices of a namespace.
func (g Discovery) EndpointSlices(namespace string) EndpointSlices {
	return objects[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](g.client, "endpointslices", namespace)
}

// Policy is the group policy/v1.
type Policy struct{ client rest.Interface }

// PolicyV1 returns the group policy/v1.
func (c *Clientset) PolicyV1() Policy { return Policy{c.clients[policyv1.SchemeGroupVersion]} }

// Evict evicts the pod of an eviction's name and namespace.
func (g Policy) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return g.client.Post().AbsPath("/api/v1").Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).SubResource("eviction").
		Body(eviction).Do(ctx).Error()
}

// Core is the core group, v1.
type Core struct{ client rest.Interface }

// CoreV1 returns the core group, v1.
func (c *Clientset) CoreV1() Core { return Core{c.clients[corev1.SchemeGroupVersion]} }

// RESTClient makes requests for subresources.
func (g Core) RESTClient() rest.Interface { return g.client }

// Namespaces of the cluster.
func (g Core) Namespaces() Namespaces {
	return objects[corev1.Namespace, corev1.NamespaceList](g.client, "namespaces", "")
}

// Nodes of the cluster.
func (g Core) Nodes() Nodes { return objects[corev1.Node, corev1.NodeList](g.client, "nodes", "") }

// Services of a namespace.
func (g Core) Services(namespace string) Services {
	return objects[corev1.Service, corev1.ServiceList](g.client, "services", namespace)
}

// Secrets of a namespace.
func (g Core) Secrets(namespace string) Secrets {
	return objects[corev1.Secret, corev1.SecretList](g.client, "secrets", namespace)
}

// ConfigMaps of a namespace.
func (g Core) ConfigMaps(namespace string) ConfigMaps {
	return objects[corev1.ConfigMap, corev1.ConfigMapList](g.client, "configmaps", namespace)
}

// ServiceAccounts of a namespace.
func (g Core) ServiceAccounts(namespace string) ServiceAccounts {
	return objects[corev1.ServiceAccount, corev1.ServiceAccountList](g.client, "serviceaccounts", namespace)
}

// Events of a namespace.
func (g Core) Events(namespace string) Events {
	return objects[corev1.Event, corev1.EventList](g.client, "events", namespace)
}

// Pods are the pods of a namespace, and their logs.
type Pods struct {
	Objects[*corev1.Pod, *corev1.PodList]
}

// Pods of a namespace.
func (g Core) Pods(namespace string) Pods {
	return Pods{objects[corev1.Pod, corev1.PodList](g.client, "pods", namespace)}
}

// GetLogs returns the request for the log of a pod.
func (p Pods) GetLogs(name string, options *corev1.PodLogOptions) *rest.Request {
	return p.of(p.client.Get()).Name(name).SubResource("log").VersionedParams(options, parameters)
}

package kubernetes

import rbacv1 "k8s.io/api/rbac/v1"

// PermissionsOfRun is the key in [Permissions] of what every run and clean-up needs.
const PermissionsOfRun = "run"

// Permissions are the rules of RBAC that rpclab needs, by what a run uses. All are for every namespace, because that of
// the run does not exist yet. Only those of [PermissionsOfRun] are checked before a run; the others when they are used.
// Of the groups of a service, the rules with the verb create are for the namespace of the run, and the others for that of
// the service: the chart binds them there if it knows it.
func Permissions() map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{
		PermissionsOfRun: {
			allow("", "namespaces", "get", "list", "create", "patch", "delete"),
			allow("", "secrets", "create", "patch"),
			allow("", "serviceaccounts", "create", "patch"),
			allow("", "services", "create", "patch", "delete"),
			allow("", "pods", "list", "watch", "patch", "delete", "deletecollection"),
			allow("", "pods/log", "get"),
			allow("", "pods/portforward", "create"),
			allow("", "events", "list", "watch"),
			allow("apps", "deployments", "create", "patch", "delete"),
			allow("apps", "deployments/scale", "patch"),
			allow("batch", "jobs", "create", "patch", "delete"),
			allow("coordination.k8s.io", "leases", "get", "create", "patch"),
			allow("discovery.k8s.io", "endpointslices", "get", "list", "watch"),
			allow("networking.k8s.io", "networkpolicies", "create", "patch"),
			allow("rbac.authorization.k8s.io", "roles", "create", "patch"),
			allow("rbac.authorization.k8s.io", "rolebindings", "create", "patch"),
		},
		// The route nodeport.
		"nodeport": {allow("", "services", "get")},
		// The events drain and cordon.
		"nodes": {allow("", "nodes", "get", "patch"), allow("", "pods/eviction", "create")},
		// The routes linkerd and istio.
		"mesh": {allow("apps", "deployments", "list"), allow("apps", "daemonsets", "list"), allow("", "nodes/proxy", "get")},
		// The CPU time and memory of server.image and server.deployment of a service file.
		"usage": {allow("", "pods/ephemeralcontainers", "patch")},
		// server.service of a service file.
		"service": {allow("", "services", "get"), allow("discovery.k8s.io", "endpointslices", "create", "patch", "delete")},
		// server.pull_secret of a service file.
		"pullsecret": {allow("", "secrets", "get")},
		// server.deployment of a service file.
		"deployment": {
			allow("apps", "deployments", "get"), allow("", "serviceaccounts", "get"), allow("", "secrets", "get"),
			allow("", "configmaps", "get"), allow("", "configmaps", "create", "patch"),
		},
		// run --allow-disruption.
		"disruption": {
			allow("apps", "deployments", "get", "list", "patch"), allow("apps", "deployments/scale", "patch"),
			allow("", "pods", "list", "delete"), allow("autoscaling", "horizontalpodautoscalers", "list"),
		},
	}
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

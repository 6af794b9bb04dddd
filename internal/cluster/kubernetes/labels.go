package kubernetes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// manager is the field manager of server-side apply, and the value of labelManager.
	manager = "rpclab"
	// prefix of every namespace of a run.
	prefix = "rpclab-"
)

// Names of the objects that the pods of a run share.
const (
	leaseName      = "owner"
	secretName     = "agents"  // has the token of the agents
	watcherAccount = "watcher" // the service account that may watch endpoints
	noPermissions  = "nothing" // the service account without permissions
)

// Labels.
const (
	labelManager = "app.kubernetes.io/managed-by"
	labelRun     = "rpclab/run"
	labelService = "rpclab/service" // the deployment or callers that a pod belongs to
	labelRole    = "rpclab/role"
	roleBackend  = "backend"
	roleProgram  = "program" // a server of the user's, in a pod without an agent
	roleCaller   = "caller"
)

// Annotations of the namespace.
const (
	noteOwner    = "rpclab/owner"    // who runs it, and where
	noteTTL      = "rpclab/ttl"      // of the lease, after its last renewal
	noteCordoned = "rpclab/cordoned" // nodes
	noteScaled   = "rpclab/scaled"   // Deployments of the user, with their numbers of replicas
)

// noteContainer is the annotation of a pod that names its main container. Copies of other Deployments have it.
const noteContainer = "kubectl.kubernetes.io/default-container"

// objectScope is the namespace, run and image of objects.
type objectScope struct {
	namespace, id, image string
	architecture         string // of the image that rpclab built; empty: not known, because the user named one
}

// nodes select the nodes that the image runs on. It contains programs for Linux.
func (s objectScope) nodes() map[string]string {
	if s.architecture == "" {
		return map[string]string{}
	}
	return map[string]string{corev1.LabelOSStable: string(corev1.Linux), corev1.LabelArchStable: s.architecture}
}

// meta returns the metadata of an object of the run, with more labels.
func (s objectScope) meta(name string, more map[string]string) metav1.ObjectMeta {
	labels := runLabels(s.id)
	maps.Copy(labels, more)
	return metav1.ObjectMeta{Name: name, Namespace: s.namespace, Labels: labels}
}

// runLabels are the labels on every object of a run.
func runLabels(id string) map[string]string {
	return map[string]string{labelManager: manager, labelRun: id}
}

// selectRuns is the label selector of the objects of all runs.
const selectRuns = labelManager + "=" + manager + "," + labelRun

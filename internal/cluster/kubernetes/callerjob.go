package kubernetes

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

// callerGrace is how long agents may take to end their processes, in seconds.
const callerGrace = 5

// callerJob is an indexed Job, which replaces a pod that was evicted or deleted.
func callerJob(scope objectScope, name string, spec cluster.CallerSpec) *batchv1.Job {
	pods := map[string]string{labelService: name, labelRole: roleCaller}
	indexed, count, retries := batchv1.IndexedCompletion, int32(spec.Count), int32(1000)
	account := noPermissions
	if spec.Watches {
		account = watcherAccount
	}
	pod := podSpec(scope, account, callerGrace, scope.ownContainer(mainContainer, agentArgs(mainPort)))
	pod.RestartPolicy = corev1.RestartPolicyNever
	if spec.Sidecar != nil {
		always := corev1.ContainerRestartPolicyAlways
		side := scope.ownContainer(sideContainer, agentArgs(sidePort))
		side.RestartPolicy = &always // a native sidecar (KEP-753)
		pod.InitContainers = []corev1.Container{side}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: scope.meta("", pods).Labels}, Spec: pod}
	injectCaller(spec.Mesh, &template)
	return &batchv1.Job{
		ObjectMeta: scope.meta(name, map[string]string{labelService: name}),
		Spec: batchv1.JobSpec{
			CompletionMode: &indexed, Completions: &count, Parallelism: &count, BackoffLimit: &retries,
			Template: template,
		},
	}
}

package kubernetes

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

// crewGrace is how long the agents of a crew may take to end their programs, in seconds.
const crewGrace = 5

// crewJob is the pods of a crew: each has an index, and one that is lost comes back.
func crewJob(p place, name string, w cluster.Crew) *batchv1.Job {
	pods := map[string]string{labelService: name, labelRole: member}
	indexed, count, patience := batchv1.IndexedCompletion, int32(w.Count), int32(1000)
	account := plain
	if w.Watches {
		account = watcher
	}
	spec := podSpec(account, crewGrace, container(mainContainer, p.image, agentArgs(mainPort)))
	spec.RestartPolicy = corev1.RestartPolicyNever
	if w.Sidecar != nil {
		always := corev1.ContainerRestartPolicyAlways
		side := container(sideContainer, p.image, agentArgs(sidePort))
		side.RestartPolicy = &always // an init container that stays: a native sidecar
		spec.InitContainers = []corev1.Container{side}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(p.meta("", pods).Labels)}, Spec: spec}
	inject(w.Mesh, &template)
	return &batchv1.Job{
		ObjectMeta: p.meta(name, map[string]string{labelService: name}),
		Spec: batchv1.JobSpec{
			CompletionMode: &indexed, Completions: &count, Parallelism: &count, BackoffLimit: &patience,
			Template: template,
		},
	}
}

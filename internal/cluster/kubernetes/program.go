package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// programPod is a pod with a server of the user's. It has no permissions and no secret but the files of the
// program. Its root file system is writable, because servers write where they want.
func programPod(scope objectScope, spec cluster.Spec) (corev1.PodSpec, error) {
	program := *spec.Program
	args, env, err := inPod(program, portOf(spec))
	if err != nil {
		return corev1.PodSpec{}, err
	}
	main := container(mainContainer, program.Image, args)
	main.Env = podFields(programPrefix)
	setEnv(&main, env)
	main.Resources = resources(spec.CPUs, spec.Memory)
	main.Ports = []corev1.ContainerPort{{Name: "grpc", ContainerPort: int32(portOf(spec)), Protocol: corev1.ProtocolTCP}}
	main.ReadinessProbe = readinessProbe(program.Ready, portOf(spec))
	main.SecurityContext.ReadOnlyRootFilesystem = nil
	main.VolumeMounts = []corev1.VolumeMount{tmpMount}
	pod := podSpec(scope, noPermissions, 0, main)
	pod.ImagePullSecrets = pullSecrets(program)
	pod.NodeSelector = nil // the image of the user may be for other nodes
	pod.Volumes = []corev1.Volume{tmpVolume}
	mountFiles(&pod, &pod.Containers[0], program.Files, slices.Sorted(maps.Keys(program.Files)))
	stopProgram(&pod, spec)
	addToken(&pod)
	addFaultProxy(&pod, scope, spec)
	return pod, nil
}

// The kubelet inserts the address and the name of a pod. No server reads variables of these names, so that it can have
// its own POD_NAME and POD_IP.
const (
	programPrefix = "RPCLAB_"
	podIP         = "$(" + programPrefix + "POD_IP)"
	podName       = "$(" + programPrefix + "POD_NAME)"
)

// literal keeps the kubelet from changing a text of the user, in which it would replace $$ and $(NAME).
var literal = strings.NewReplacer(podIP, podIP, podName, podName, "$", "$$")

// setEnv gives the container with the server the variables of server.env, in place of those with the same name, of which
// Kubernetes would use the last. It returns their names.
func setEnv(main *corev1.Container, env []corev1.EnvVar) (names []string) {
	if len(env) == 0 {
		return nil
	}
	at := func(name string, in []corev1.EnvVar) int {
		return slices.IndexFunc(in, func(v corev1.EnvVar) bool { return v.Name == name })
	}
	missing := slices.DeleteFunc(podFields(programPrefix), func(v corev1.EnvVar) bool { return at(v.Name, main.Env) >= 0 })
	all := append(missing, main.Env...)
	for _, now := range env {
		if i := at(now.Name, all); i >= 0 {
			all[i] = now
			rest := slices.DeleteFunc(all[i+1:], func(v corev1.EnvVar) bool { return v.Name == now.Name })
			all = all[:i+1+len(rest)]
		} else {
			all = append(all, now)
		}
		names = append(names, now.Name)
	}
	main.Env = all
	return names
}

// inPod returns the arguments and variables of a program in a pod, with references to the variables of [podFields].
func inPod(program cluster.Program, port int) (args []string, env []corev1.EnvVar, err error) {
	args, texts, err := program.For(cluster.Replica{Address: fmt.Sprint(podIP, ":", port), Host: podIP, Port: port, ID: podName})
	for i := range args {
		args[i] = literal.Replace(args[i])
	}
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		env = append(env, corev1.EnvVar{Name: name, Value: literal.Replace(value)})
	}
	return args, env, err
}

// stopProgram sets how the pod's first container is stopped: after the drain time, by the program's signal.
func stopProgram(pod *corev1.PodSpec, spec cluster.Spec) {
	program, main := spec.Program, &pod.Containers[0]
	grace := program.Grace
	if grace == 0 {
		grace = cluster.DefaultGrace
	}
	drain := seconds(spec.Drain)
	total := drain + max(seconds(grace), 1)
	pod.TerminationGracePeriodSeconds = &total
	if drain > 0 {
		main.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drain}}}
	}
	if program.Signal == "" { // that of the image
		return
	}
	if main.Lifecycle == nil {
		main.Lifecycle = &corev1.Lifecycle{}
	}
	signal := corev1.Signal(program.SignalName())
	main.Lifecycle.StopSignal = &signal
	pod.OS = &corev1.PodOS{Name: corev1.Linux} // names of signals differ between systems
}

// seconds rounds a time up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// checkStopSignal fails if the cluster has ignored the stop signal of the program. TERM is the default of containers whose
// image sets no other, so it is no failure.
func checkStopSignal(program *cluster.Program, pods ...corev1.PodSpec) error {
	if program == nil || program.Signal == "" || program.StopSignal() == syscall.SIGTERM {
		return nil
	}
	for _, pod := range pods {
		if set := pod.Containers[0].Lifecycle; set == nil || set.StopSignal == nil {
			return fmt.Errorf("server.stop: this cluster ignores the stop signal %s (its feature ContainerStopSignals is off): "+
				"remove server.stop.signal; the STOPSIGNAL of the image, else TERM, then stops a pod", program.Signal)
		}
	}
	return nil
}

// whyNotReady says why a pod of the program runs and is not ready, by the last failure of its probe.
func whyNotReady(pod *corev1.Pod, spec cluster.Spec, failures []*corev1.Event) string {
	text := fmt.Sprintf("pod %s runs, and was not ready within %s", pod.Name, readyTimeout(spec.Program))
	last := ""
	if sorted := newestFirst(failures); len(sorted) > 0 {
		last = strings.TrimSpace(sorted[0].Message)
		text += ": " + last
	}
	if strings.Contains(last, "does not implement the grpc health protocol") {
		return text + "\nSet server.ready: tcp, or add the gRPC health service to the server"
	}
	return text + fmt.Sprintf("\nIt must accept calls at port %d of its pod's address ({{.Address}}, or 0.0.0.0): set server.port to its port, "+
		"server.ready to tcp or {http: PATH} if it has no gRPC health service, or server.timeout if it needs more time", portOf(spec))
}

// startTimeout is how long the pods of a deployment may take until all are ready.
func startTimeout(spec cluster.Spec) time.Duration {
	if spec.Program == nil {
		return podsTimeout
	}
	return podsTimeout + readyTimeout(spec.Program)
}

func readyTimeout(program *cluster.Program) time.Duration {
	if program.ReadyTimeout > 0 {
		return program.ReadyTimeout
	}
	return cluster.DefaultReadyTimeout
}

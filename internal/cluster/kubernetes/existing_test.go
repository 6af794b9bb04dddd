package kubernetes

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	calls "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"rpclab/internal/cluster"
)

// The API server refuses the first copies of a change. No other change follows.
func TestAChangeThatCouldNotBeCopiedIsCopiedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int64
		objects := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		objects.PrependReactor("patch", "endpointslices", func(calls.Action) (bool, runtime.Object, error) {
			if attempts.Add(1) <= 3 {
				return true, nil, errors.New("the API server is overloaded")
			}
			return true, &unstructured.Unstructured{}, nil
		})
		port, ready := int32(50051), true
		listed := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err := listed.Add(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "orders-x", Namespace: "shop"}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}}},
			Ports:     []discoveryv1.EndpointPort{{Port: &port}},
		}); err != nil {
			t.Fatal(err)
		}
		d := &existing{
			AsItIs: cluster.AsItIs{Name: "shop/orders", Field: "server.service"}, run: &run{api: &API{dynamic: objects}}, copy: "orders-0",
			origin:    &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}},
			endpoints: cluster.NewEndpoints(), slices: discoverylisters.NewEndpointSliceLister(listed),
			changed: make(chan struct{}, 1), copied: map[string]*discoveryv1.EndpointSlice{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		d.tasks.Go(func() { d.follow(ctx) })
		d.changed <- struct{}{}
		synctest.Wait()
		if failures := d.Failures(); len(failures) != 1 || !strings.Contains(failures[0], "the endpoints of shop/orders could not be copied: ") {
			t.Errorf("after the first attempt the failures are %q", failures)
		}
		<-time.After(firstCopyPause * 8)
		synctest.Wait()
		now, _ := d.endpoints.Current()
		if len(now.Ready()) != 1 || len(d.Failures()) > 0 || attempts.Load() != 4 {
			t.Errorf("after %d attempts %d endpoints are ready, and the failures are %q; want 1 and none after 4", attempts.Load(), len(now.Ready()), d.Failures())
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if attempts.Load() != 4 {
			t.Errorf("there are %d attempts, want none after the copy", attempts.Load())
		}
		cancel()
		d.tasks.Wait()
	})
}

// The only pod becomes unready between the wait for it and the description.
func TestAServiceIsDescribedAsItWasWhenItWasReady(t *testing.T) {
	d := &existing{
		run: &run{objectScope: objectScope{namespace: "rpclab-r1"}}, copy: "orders-0", endpoints: cluster.NewEndpoints(),
		origin: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}},
	}
	pod := cluster.Endpoint{ID: "orders-x", Addr: netip.MustParseAddrPort("10.0.0.1:50051"), Serving: true}
	d.endpoints.Set(pod)
	now, err := d.awaitReady(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pod.Serving = false
	d.endpoints.Set(pod)
	d.describe(now)
	if got := d.Service(); got.Port != 50051 || got.Ready != 1 {
		t.Errorf("port %d, %d ready; want port 50051, 1 ready", got.Port, got.Ready)
	}
}

// A dual-stack Service has one slice for each family, and each pod is in both.
func TestEndpointsOfADualStackServiceAreOfItsFirstFamily(t *testing.T) {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	for _, c := range []struct {
		families []corev1.IPFamily
		slice    discoveryv1.AddressType
		copied   bool
	}{
		{nil, discoveryv1.AddressTypeIPv4, true},
		{[]corev1.IPFamily{v4, v6}, discoveryv1.AddressTypeIPv4, true},
		{[]corev1.IPFamily{v4, v6}, discoveryv1.AddressTypeIPv6, false},
		{[]corev1.IPFamily{v6}, discoveryv1.AddressTypeIPv6, true},
	} {
		d := &existing{run: &run{}, origin: &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: c.families}}}
		original := &discoveryv1.EndpointSlice{AddressType: c.slice, Ports: []discoveryv1.EndpointPort{{Port: new(int32(50051))}}}
		if copied := d.copyOf(original); (copied != nil) != c.copied {
			t.Errorf("families %v: a slice of %s is copied: %v, want %v", c.families, c.slice, copied != nil, c.copied)
		}
	}
}

func TestEventsThatScaleRefuseAnAutoscaler(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }
	pods := map[string]string{"app": "orders"}
	service := &corev1.Service{ObjectMeta: in("orders"), Spec: corev1.ServiceSpec{Selector: pods}}
	owner := &appsv1.Deployment{ObjectMeta: in("orders-v1"), Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods}}}}
	autoscaler := func(kind, name string) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in("busy"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: kind, Name: name}}}
	}
	const refused = "--allow-disruption: the HorizontalPodAutoscaler shop/busy sets the replicas of the Deployment shop/orders-v1, so it would undo the events scale: " +
		"delete it for the time of the run (`kubectl delete hpa busy -n shop`), remove these events, or set server.deployment: shop/orders-v1 to scale copies of its pods"
	for name, c := range map[string]struct {
		actions    []string
		autoscaler *autoscalingv2.HorizontalPodAutoscaler
		denied     string
		want       string // in the error; empty: none
	}{
		"of the Deployment":    {[]string{"kill", "scale"}, autoscaler("Deployment", "orders-v1"), "", refused},
		"of another":           {[]string{"scale"}, autoscaler("Deployment", "payments"), "", ""},
		"of a StatefulSet":     {[]string{"scale"}, autoscaler("StatefulSet", "orders-v1"), "", ""},
		"without scale":        {[]string{"kill", "roll"}, autoscaler("Deployment", "orders-v1"), "horizontalpodautoscalers", ""},
		"that may not be read": {[]string{"scale"}, autoscaler("Deployment", "payments"), "horizontalpodautoscalers", "this user may not list horizontalpodautoscalers in the namespace shop"},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeObjects(t, func(wanted authorization.ResourceAttributes) bool { return wanted.Resource != c.denied }, service, owner, c.autoscaler)
			said, err := Disruption{Service: "shop/orders", Actions: c.actions, Events: "scale 5"}.prepare(t.Context(), api)
			if c.want == "" && (err != nil || !strings.Contains(said, "this run changes the Deployment shop/orders-v1")) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%q, error %v; want %q", said, err, c.want)
			}
		})
	}
}

func TestARollOfAPausedDeploymentIsRefused(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }
	pods := map[string]string{"app": "orders"}
	service := &corev1.Service{ObjectMeta: in("orders"), Spec: corev1.ServiceSpec{Selector: pods}}
	owner := &appsv1.Deployment{ObjectMeta: in("orders-v1"), Spec: appsv1.DeploymentSpec{Paused: true, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods}}}}
	api := fakeObjects(t, func(authorization.ResourceAttributes) bool { return true }, service, owner)
	for action, want := range map[string]string{"roll": "`kubectl rollout resume deployment/orders-v1 -n shop`", "kill": ""} {
		_, err := Disruption{Service: "shop/orders", Actions: []string{action}}.prepare(t.Context(), api)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", action, err, want)
		}
	}
}

// HTTP/3 uses UDP, often at the port of HTTP/2.
func TestPortsOfUDPAreNotChosen(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http", Port: 443, Protocol: corev1.ProtocolUDP}, {Name: "https", Port: 443, Protocol: corev1.ProtocolTCP},
	}}}
	for _, wanted := range []int{443, 0} {
		if port, err := choosePort(service, wanted); err != nil || port.Name != "https" {
			t.Errorf("server.port %d chooses %s (%v), want https", wanted, port.Name, err)
		}
	}
	main := corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 8443, Protocol: corev1.ProtocolUDP}, {ContainerPort: 9000}}}
	if port, err := containerPort(main, copySpec()); err != nil || port != 9000 {
		t.Errorf("the port of the container is %d (%v), want 9000", port, err)
	}
}

// Pods of other owners, which match the Service too, are older than those of the Deployment.
func TestKillDeletesPodsOfTheDeploymentOnly(t *testing.T) {
	pods := map[string]string{"app": "orders"}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }
	owner := &appsv1.Deployment{ObjectMeta: meta("orders"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: pods}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods}}}}
	age := 0
	pod := func(name, kind, by, hash string) *corev1.Pod {
		age++
		made := &corev1.Pod{ObjectMeta: meta(name), Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
		made.CreationTimestamp = metav1.Unix(int64(age), 0)
		made.Labels = map[string]string{"app": "orders", appsv1.DefaultDeploymentUniqueLabelKey: hash}
		if kind != "" {
			made.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: by, Controller: new(true)}}
		}
		return made
	}
	origin := &corev1.Service{ObjectMeta: meta("orders"), Spec: corev1.ServiceSpec{Selector: pods}}
	api := fakeObjects(t, nil, owner, pod("bare", "", "", ""), pod("job", "Job", "orders-7f", "7f"), pod("set-0", "StatefulSet", "orders", ""),
		pod("canary", "ReplicaSet", "orders-canary-7f", "7f"), pod("first", "ReplicaSet", "orders-7f", "7f"), pod("second", "ReplicaSet", "orders-8a", "8a"))
	d := &disturbed{existing: &existing{run: &run{api: api}, origin: origin}}
	killed, err := d.Kill(t.Context(), 2)
	if err != nil || !slices.Equal(killed, []string{"first", "second"}) {
		t.Errorf("killed %q, error %v; want the pods first and second", killed, err)
	}
	if _, err := d.Kill(t.Context(), 3); err == nil || err.Error() != "2 pods of the Deployment shop/orders are ready, 3 are needed" {
		t.Errorf("error %v, want that 2 pods are ready", err)
	}
}

// The number of replicas is then that of the other run, to which this one would return.
func TestEventsThatScaleRefuseADeploymentThatAnotherRunScaled(t *testing.T) {
	pods := map[string]string{"app": "orders"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}, Spec: corev1.ServiceSpec{Selector: pods}}
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}}
	owner.Spec.Template.Labels = pods
	now := metav1.Now()
	for name, c := range map[string]struct {
		scaled   string
		deleting *metav1.Time
		refused  bool
	}{
		"this Deployment": {`{"shop/orders":{"before":3,"set":[4]}}`, nil, true},
		"another":         {`{"shop/payments":{"before":3,"set":[4]}}`, nil, false},
		"none":            {"", nil, false},
		"and restored":    {`{"shop/orders":{"before":3,"set":[4]}}`, &now, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: "rpclab-r2", Labels: runLabels("r2"), Annotations: map[string]string{noteScaled: c.scaled}, DeletionTimestamp: c.deleting,
			}}
			api := fakeObjects(t, func(authorization.ResourceAttributes) bool { return true }, service, owner, other)
			_, prepared := Disruption{Service: "shop/orders", Actions: []string{"scale"}}.prepare(t.Context(), api)
			for when, err := range map[string]error{"before the run": prepared, "before an event": api.checkScaled(t.Context(), owner, "rpclab-r1")} {
				if (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), "the run in the namespace rpclab-r2 has scaled the Deployment shop/orders") {
					t.Errorf("%s: error %v, want one: %v", when, err, c.refused)
				}
			}
			if err := api.checkScaled(t.Context(), owner, "rpclab-r2"); err != nil {
				t.Errorf("the run that scaled it: %v", err)
			}
		})
	}
}

func TestADisturbedDeploymentThatNoLongerExistsIsNotWaitedFor(t *testing.T) {
	origin := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}}
	d := &disturbed{existing: &existing{run: &run{api: fakeObjects(t, nil)}, origin: origin}, name: "orders"}
	if err := d.awaitSteady(); err == nil || err.Error() != "the Deployment shop/orders no longer exists" {
		t.Errorf("error %v, want that it no longer exists", err)
	}
}

// A rollout of many pods may take long.
func TestTheWaitForARolloutEndsWithoutProgress(t *testing.T) {
	began := time.Now()
	seconds := int32(180)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{ProgressDeadlineSeconds: &seconds}}
	waits := rolloutWait{since: began, patience: leastPatience}
	for minute := range 10 {
		d.Status.UpdatedReplicas = int32(minute / 2) // one more pod in each second minute
		if waits.saw(d, began.Add(time.Duration(minute)*time.Minute)); waits.over(began.Add(time.Duration(minute) * time.Minute)) {
			t.Fatalf("the wait ends after %d minutes, with progress", minute)
		}
	}
	for after, over := range map[time.Duration]bool{11*time.Minute - time.Second: false, 12 * time.Minute: true} { // the last pod came after 8 minutes
		if waits.saw(d, began.Add(after)); waits.over(began.Add(after)) != over {
			t.Errorf("%v after the start the wait is over: %t, want %t", after, !over, over)
		}
	}
}

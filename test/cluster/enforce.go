//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// enforce keeps the rules of NetworkPolicies in the networks of nodes, by their addresses, until ctx ends. It
// returns when the first rules are loaded.
func enforce(ctx context.Context, client clientset.Interface, nodes map[string]*space) error {
	watched := informers.NewSharedInformerFactory(client, 0)
	policies, pods, namespaces := watched.Networking().V1().NetworkPolicies(), watched.Core().V1().Pods(), watched.Core().V1().Namespaces()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // a change waits already
		}
	}
	for _, informer := range []cache.SharedIndexInformer{policies.Informer(), pods.Informer(), namespaces.Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notify() }, UpdateFunc: func(_, _ any) { notify() }, DeleteFunc: func(any) { notify() },
		})
		if err != nil {
			return err
		}
	}
	watched.Start(ctx.Done())
	for kind, synced := range watched.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch objects of %v: %w", kind, ctx.Err())
		}
	}
	loaded := map[string]string{} // rules, by node
	load := func() (failed error) {
		var now objects
		var listed [3]error
		now.policies, listed[0] = policies.Lister().List(labels.Everything())
		now.pods, listed[1] = pods.Lister().List(labels.Everything())
		now.namespaces, listed[2] = namespaces.Lister().List(labels.Everything())
		if err := errors.Join(listed[:]...); err != nil {
			return err
		}
		now.sort()
		for ip, node := range nodes {
			rules := now.rules(ip)
			if rules == loaded[ip] {
				continue
			}
			if err := node.filter(ctx, rules); err != nil {
				failed = errors.Join(failed, fmt.Errorf("load the rules of NetworkPolicies into %s: %w", node.name, err))
				continue
			}
			loaded[ip] = rules
		}
		return failed
	}
	if err := load(); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-changed:
				if err := load(); err != nil {
					fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), err) // the node may have been killed
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

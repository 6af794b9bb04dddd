//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"rpclab/internal/image"
	"rpclab/internal/tool"
)

// The images that istio/istio.yaml and the charts of Istio name.
const (
	istiodImage     = "rpclab.test/pilot:1"
	sidecarImage    = "rpclab.test/proxyv2:1"
	installCNIImage = "rpclab.test/install-cni:1"
)

const (
	istioModule    = "istio.io/istio"
	istioNamespace = "{apiVersion: v1, kind: Namespace, metadata: {name: istio-system}}\n" // which the charts expect
)

// istio has images/ and objects.yaml of Istio. Its sidecar is this Envoy.
func istio(envoy string) product {
	return product{
		title: "Istio", duration: "5 to 15 minutes", sources: "istio",
		args:     []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"},
		packages: []string{"tool", "./render"},
		inputs:   []string{envoy}, // the path has the version
		finish: func(ctx context.Context, module, part string) error {
			bin := filepath.Join(part, "bin")
			objects, err := commandOutput(ctx, filepath.Join(bin, "render"), filepath.Join(module, "istio.yaml"))
			if err != nil {
				return err
			}
			objects = append([]byte(istioNamespace), objects...)
			if err := os.WriteFile(filepath.Join(part, "objects.yaml"), objects, 0o644); err != nil {
				return err
			}
			return errors.Join(packIstio(ctx, module, bin, envoy, filepath.Join(part, "images")), os.RemoveAll(bin))
		},
	}
}

// packIstio builds the images with the files at the paths of Istio's own images.
func packIstio(ctx context.Context, module, bin, envoy, into string) error {
	found, err := commandOutput(ctx, "go", "-C", module, "list", "-m", "-f", "{{.Dir}}", istioModule)
	if err != nil {
		return err
	}
	sources := strings.TrimSpace(string(found))
	sidecar, err := image.Dependencies(envoy)
	if err != nil {
		return err
	}
	maps.Copy(sidecar, map[string]string{
		"/usr/local/bin/envoy":                           envoy,
		"/usr/local/bin/pilot-agent":                     filepath.Join(bin, "pilot-agent"),
		"/var/lib/istio/envoy/envoy_bootstrap_tmpl.json": filepath.Join(sources, "tools/packaging/common/envoy_bootstrap.json"),
	})
	path := []string{"PATH=/usr/local/bin:/opt/cni/bin"}
	return errors.Join(
		packImage(filepath.Join(into, "istiod.tar"), istiodImage, map[string]string{
			"/usr/local/bin/pilot-discovery": filepath.Join(bin, "pilot-discovery"),
		}, v1.Config{User: "1337:1337", Env: path, Entrypoint: []string{"/usr/local/bin/pilot-discovery"}}),
		packImage(filepath.Join(into, "sidecar.tar"), sidecarImage, sidecar, v1.Config{Env: path, Entrypoint: []string{"/usr/local/bin/pilot-agent"}}),
		packImage(filepath.Join(into, "install-cni.tar"), installCNIImage, map[string]string{
			"/usr/local/bin/install-cni": filepath.Join(bin, "install-cni"),
			"/opt/cni/bin/istio-cni":     filepath.Join(bin, "istio-cni"),
		}, v1.Config{Env: path, WorkingDir: "/opt/cni/bin", Entrypoint: []string{"/usr/local/bin/install-cni"}}),
	)
}

// buildIstio installs Envoy and builds Istio, unless both are there. It returns the directory.
func buildIstio(ctx context.Context, cache string) (string, error) {
	envoy, err := tool.Lookup("envoy")
	if err != nil {
		return "", err
	}
	if err := envoy.Install(ctx, func(did string) { progress("%s", did) }); err != nil {
		return "", err
	}
	path, err := envoy.Find()
	if err != nil {
		return "", err
	}
	return istio(path).build(ctx, cache, progress)
}

// installIstio installs Istio in a running cluster. It returns when its CNI plugin is on all nodes and its webhook
// injects sidecars.
func installIstio(ctx context.Context, name string) error {
	s, dir, err := readyState(name)
	if err != nil {
		return err
	}
	cache, unlock, err := cacheDirectory(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	made, err := buildIstio(ctx, cache)
	if err != nil {
		return err
	}
	began := time.Now()
	images, err := filepath.Glob(filepath.Join(made, "images", "*.tar"))
	if err != nil {
		return err
	}
	nodes, within := errgroup.WithContext(ctx)
	for _, n := range s.Nodes {
		nodes.Go(func() error { return importImages(within, n.Pid, images...) })
	}
	if err := nodes.Wait(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "-f", filepath.Join(made, "objects.yaml")},
		{"rollout", "status", "daemonset/istio-cni-node"},
		{"rollout", "status", "deployment/istiod"},
		// istiod writes its authority into the configuration of its webhook.
		{"wait", "--for=jsonpath={.webhooks[0].clientConfig.caBundle}", "mutatingwebhookconfiguration/istio-sidecar-injector", "--timeout=4m"},
	} {
		if err := run(ctx, append([]string{kubectlIn(dir), "--kubeconfig", kubeconfigIn(dir), "-n", "istio-system"}, args...)...); err != nil {
			return fmt.Errorf("install Istio: %w", err)
		}
	}
	progress("Istio injects sidecars after %.1f s", time.Since(began).Seconds())
	return nil
}

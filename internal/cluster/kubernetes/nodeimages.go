package kubernetes

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// LacksImage are the nodes that could run pods of an image (with its full name) for Linux and an architecture, and do not
// report the image. known is false if rpclab cannot list nodes, or if a node without the image reports as many images as a
// kubelet reports at most.
func (a *API) LacksImage(ctx context.Context, name, architecture string) (nodes []string, known bool) {
	listed, err := a.listNodes(ctx)
	if err != nil { // without permission a kubelet pulls the image, or says that it cannot
		return nil, false
	}
	names := []string{name, strings.TrimPrefix(name, "docker.io/library/")} // Docker reports the short one
	for _, node := range listed {
		if system := node.Status.NodeInfo; !runsPods(node) || system.OperatingSystem != string(corev1.Linux) || system.Architecture != architecture {
			continue
		}
		has := slices.ContainsFunc(node.Status.Images, func(i corev1.ContainerImage) bool {
			return slices.ContainsFunc(i.Names, func(reported string) bool { return slices.Contains(names, reported) })
		})
		if !has && len(node.Status.Images) >= mostImages {
			return nil, false
		}
		if !has {
			nodes = append(nodes, node.Name)
		}
	}
	return nodes, true
}

// mostImages is how many images a kubelet reports, the largest, unless nodeStatusMaxImages of its configuration differs.
const mostImages = 50

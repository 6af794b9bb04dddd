// Command render prints the objects of an Istio, which it renders from the charts of Istio's module as
// `istioctl manifest generate -f FILE` does.
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"istio.io/istio/operator/pkg/manifest"
	"istio.io/istio/operator/pkg/render"
)

func main() {
	sets, _, err := render.GenerateManifest(os.Args[1:], nil, false, nil, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	slices.SortFunc(sets, func(a, b manifest.ManifestSet) int { return cmp.Compare(a.Component, b.Component) }) // the base first
	for _, set := range sets {
		for _, object := range set.Manifests {
			fmt.Println("---\n" + object.Content)
		}
	}
}

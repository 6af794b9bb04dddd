//go:build linux

package main

import (
	"context"
	"path/filepath"
)

// helm has bin/helm, the client of Helm.
var helm = product{
	title: "Helm", duration: "3 to 10 minutes", sources: "helm",
	args:     []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"},
	packages: []string{"tool"},
	finish:   func(context.Context, string, string) error { return nil },
}

// helmProgram builds Helm unless the cache has it, and returns the path of its client.
func helmProgram(ctx context.Context) (string, error) {
	cache, unlock, err := cacheDirectory(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	made, err := helm.build(ctx, cache, progress)
	return filepath.Join(made, "bin", "helm"), err
}

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
)

// The images of every cluster. config/ names the first two.
const (
	pauseImage   = "rpclab.test/pause:1"
	corednsImage = "rpclab.test/coredns:1"
	boxImage     = "rpclab.test/box:1" // busybox, for tests
)

// packImages builds the images of every cluster from static programs.
func packImages(bin, into string) error {
	for tag, program := range map[string]string{
		pauseImage:   filepath.Join(bin, "pause"),
		corednsImage: filepath.Join(bin, "coredns"),
		boxImage:     "/bin/busybox",
	} {
		if err := packProgram(filepath.Join(into, filepath.Base(program)+".tar"), tag, program); err != nil {
			return err
		}
	}
	return nil
}

// packProgram writes an archive with an image of one static program.
func packProgram(archive, tag, program string) error {
	inside := "/bin/" + filepath.Base(program)
	return packImage(archive, tag, map[string]string{inside: program}, v1.Config{Entrypoint: []string{inside}, Env: []string{"PATH=/bin"}})
}

// packImage writes an archive with one image. from has the path of each file on this machine by its path in the
// image.
func packImage(archive, tag string, from map[string]string, settings v1.Config) error {
	if err := writeImage(archive, tag, from, settings); err != nil {
		return fmt.Errorf("pack the image %s: %w", tag, err)
	}
	return nil
}

func writeImage(archive, tag string, from map[string]string, settings v1.Config) error {
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return err
	}
	for _, inside := range slices.Sorted(maps.Keys(from)) {
		raw, err := os.ReadFile(from[inside])
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: inside[1:], Mode: 0o755, Size: int64(len(raw))})
		if _, werr := w.Write(raw); err != nil || werr != nil {
			return errors.Join(err, werr)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = settings
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	named, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, named, image)
}

// loadImages imports archives into the containerd of every node.
func loadImages(ctx context.Context, cluster string, files []string) error {
	s, _, err := readyState(cluster)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, n := range s.Nodes {
		all.Go(func() error { return importImages(ctx, n.Pid, files...) })
	}
	return all.Wait()
}

// importImages imports archives into the containerd that runs in the space of a process.
func importImages(ctx context.Context, pid int, files ...string) error {
	for _, file := range files {
		if err := run(ctx, "ctr", "--address", containerdOf(pid), "--namespace", "k8s.io", "images", "import", file); err != nil {
			return fmt.Errorf("import the image %s: %w", file, err)
		}
	}
	return nil
}

// containerdOf returns the path of a node's containerd socket on this machine.
func containerdOf(pid int) string {
	return fmt.Sprintf("/proc/%d/root/run/containerd/containerd.sock", pid)
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unpack unpacks the one directory of an archive into root.
func unpack(t *testing.T, file, root string) {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range entries(t, text) {
		_, below, _ := strings.Cut(name, "/")
		file.write(t, filepath.Join(root, below))
	}
}

// entry is a file of an archive.
type entry struct {
	content []byte
	mode    os.FileMode
}

func (e entry) write(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, e.content, e.mode.Perm())); err != nil {
		t.Fatal(err)
	}
}

// entries returns the regular files of an archive by their names.
func entries(t *testing.T, from io.Reader) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			all[header.Name] = entry{content, header.FileInfo().Mode()}
		}
	}
}

// install executes commands that install a file of a directory into the system, on a copy of this system that lasts as long
// as the commands, and has no network. It copies into root what the commands changed. Podman is Docker there.
func install(t *testing.T, commands, files, root string) (said string) {
	t.Helper()
	const onCopy = `mount -t tmpfs tmpfs "$0" && cd "$0" && mkdir changed work all
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/changed,workdir=$0/work" all
for dir in dev sys; do mount --rbind "/$dir" "all/$dir"; done
mount -t proc proc all/proc
for dir in run var/lib/containers; do mkdir -p "all/$dir" && mount -t tmpfs tmpfs "all/$dir"; done
mkdir all/files && mount --bind "$1" all/files
printf '#!/bin/sh\nexec "$@"\n' >all/usr/bin/sudo
printf '#!/bin/sh\nexec podman "$@"\n' >all/usr/bin/docker
chmod 755 all/usr/bin/sudo all/usr/bin/docker
echo y | chroot all sh -exc "cd /files && $2"
find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + || true # of Podman
cp -a changed/. "$3"`
	shell := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--", "sh", "-ec", onCopy, t.TempDir(), files, commands, root)
	shell.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (Debian: apt-get install dnf podman)\n%s", err, out)
	}
	return string(out)
}

// unpackImage unpacks the layers of an image, as docker load reads it, into root, and returns its program.
func unpackImage(t *testing.T, file, root string) (program string) {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	all := entries(t, packed)
	var images []struct {
		Config string
		Layers []string
	}
	var config struct{ Config struct{ Entrypoint []string } }
	if err := json.Unmarshal(all["manifest.json"].content, &images); err != nil || len(images) != 1 {
		t.Fatalf("manifest.json has %d images, want 1: %v", len(images), err)
	}
	if err := json.Unmarshal(all[images[0].Config].content, &config); err != nil || len(config.Config.Entrypoint) == 0 {
		t.Fatalf("the image has no entry point: %v", err)
	}
	for _, layer := range images[0].Layers {
		text, err := gzip.NewReader(bytes.NewReader(all[layer].content))
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range entries(t, text) {
			file.write(t, filepath.Join(root, name))
		}
	}
	return config.Config.Entrypoint[0]
}

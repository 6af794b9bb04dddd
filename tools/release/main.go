// Command release makes what a release of rpclab publishes: an archive for each platform, packages for Debian and RPM, container
// images, a Helm chart, a manifest of krew, a bill of materials and checksums. Two releases of a commit with one version of Go
// are byte-identical, except images with other certificate authorities of the building machine. It is a module of its own,
// so that rpclab does not need the modules that make packages.
//
//	make release
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", "../..", "the source tree")
	out := flag.String("out", "../../dist", "the directory to fill; its files of an earlier release are removed")
	only := flag.String("only", strings.Join(platforms, ","), "platforms, comma-separated")
	url := flag.String("url", "", "where users find the files, for the manifest of krew")
	flag.Parse()
	if err := release(ctx, *root, *out, *url, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platforms are those of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// release fills the directory out from the source tree root. If it fails, out stays as it was.
func release(ctx context.Context, root, out, url string, wanted []string) error {
	work, err := os.MkdirTemp("", "rpclab-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "dist")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	builder := builder{root: root, work: work}
	here, err := builder.build(ctx, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return err
	}
	documents, err := documentsOf(ctx, root, work, here)
	if err != nil {
		return err
	}
	var programs []program
	for _, platform := range wanted {
		built := here
		if platform != here.platform() {
			if built, err = builder.build(ctx, platform); err != nil {
				return err
			}
		}
		programs = append(programs, built)
		base := filepath.Join(made, built.base())
		if err := writeArchive(filepath.Join(made, built.archive()), built, documents); err != nil {
			return err
		}
		if built.os != "linux" {
			continue
		}
		if err := writePackages(base, built, documents); err != nil {
			return err
		}
		if err := run(ctx, root, nil, here.path, "image", "build", "--with", "", "--program", built.path, "--platform", platform,
			"--licences", strings.Join(licences, ","), "--name", "rpclab:"+imageTag(built.version), "--output", base+"_image.tar"); err != nil {
			return err
		}
	}
	common := filepath.Join(made, "rpclab_"+here.version)
	if err := errors.Join(writeBOM(common+".cdx.json", root, programs), writeChart(common+"_chart.tgz", root, here), writeKrew(common+"_krew.yaml", url, programs)); err != nil {
		return err
	}
	if err := writeChecksums(made); err != nil {
		return err
	}
	return publish(made, out)
}

// publish replaces the files of an earlier release in the directory out. Its other files stay, and its directories, such as
// an archive that a user unpacked. It removes nothing until the new files are in out.
func publish(made, out string) error {
	files, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(out, file.Name())
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("cannot write %s: the path is not a regular file; move it", path)
		}
	}
	old, err := filepath.Glob(filepath.Join(out, "rpclab_*"))
	if err := errors.Join(err, os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	part, err := os.MkdirTemp(out, ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.CopyFS(part, os.DirFS(made)); err != nil {
		return err
	}
	for _, file := range append(old, filepath.Join(out, "SHA256SUMS")) {
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := os.Rename(filepath.Join(part, file.Name()), filepath.Join(out, file.Name())); err != nil {
			return err
		}
	}
	return nil
}

// imageTag is a version as a tag, which has no +.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }

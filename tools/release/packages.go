package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes base.deb and base.rpm.
func writePackages(base string, p program, documents []document) (err error) {
	dir, err := os.MkdirTemp("", "rpclab-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, format := range []struct {
		ending, completions string // of zsh
		packager            nfpm.Packager
	}{
		{".deb", "/usr/share/zsh/vendor-completions", deb.Default},
		{".rpm", "/usr/share/zsh/site-functions", rpm.DefaultRPM},
	} {
		contents, err := installed(dir, p, documents, format.completions)
		if err != nil {
			return err
		}
		info := &nfpm.Info{
			Name: "rpclab", Arch: p.arch, Platform: p.os, Version: p.version, Section: "net", Priority: "optional", Maintainer: "The rpclab authors",
			Description: "Compare how services call each other\nrpclab starts real servers, sends real calls over every route under comparison,\ninjects faults, and reports which differences are real.",
			License:     "Apache-2.0", MTime: p.time, DisableGlobbing: true,
			Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: "localhost"}},
		}
		info = nfpm.WithDefaults(info)
		if err := nfpm.PrepareForPackager(info, strings.TrimPrefix(format.ending, ".")); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := format.packager.Package(info, &out); err != nil {
			return err
		}
		if err := os.WriteFile(base+format.ending, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// installed says where a package installs the program and the documents, which it writes into dir.
func installed(dir string, p program, documents []document, zsh string) (all files.Contents, err error) {
	all = files.Contents{{Source: p.path, Destination: "/usr/bin/rpclab", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: p.time}}}
	for _, d := range documents {
		to, text := "/usr/share/doc/rpclab/"+d.name, d.text
		switch parent, name := path.Split(d.name); {
		case parent == "man/man1/":
			to = "/usr/share/man/man1/" + name + ".gz"
			if text, err = zipped(text); err != nil {
				return nil, err
			}
		case name == "LICENSE":
			to = "/usr/share/doc/rpclab/copyright"
		case name == "rpclab.bash":
			to = "/usr/share/bash-completion/completions/rpclab"
		case name == "_rpclab":
			to = zsh + "/_rpclab"
		case name == "rpclab.fish":
			to = "/usr/share/fish/vendor_completions.d/rpclab.fish"
		}
		source := filepath.Join(dir, to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o755), os.WriteFile(source, text, 0o644)); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: source, Destination: to, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: p.time}})
	}
	return all, nil
}

func zipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = packed.Write(text)
	err = errors.Join(err, packed.Close())
	return out.Bytes(), err
}

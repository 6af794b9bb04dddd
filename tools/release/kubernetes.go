package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// chartVersion is the line of Chart.yaml that a release replaces.
var chartVersion = regexp.MustCompile(`(?m)^version: .*$`)

// writeChart writes the Helm chart of the source tree root with the version and the licence of a program.
func writeChart(file, root string, p program) error {
	dir := filepath.Join(root, "deploy", "chart")
	all, err := read(root, "LICENSE")
	if err != nil {
		return err
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".go") {
			return err
		}
		found, err := read(dir, name)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return err
	}
	for i, d := range all {
		if d.name == "Chart.yaml" {
			all[i].text = chartVersion.ReplaceAll(d.text, fmt.Appendf(nil, "version: %s\nappVersion: %q", p.version, p.version))
		}
	}
	return pack(file, "rpclab", p, all)
}

// krewManifest is for krew, which installs all files of an archive, and links Bin as kubectl-rpclab.
var krewManifest = template.Must(template.New("").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: rpclab
spec:
  version: v{{.Version}}
  shortDescription: Compare how services call each other
  description: |
    Starts real servers in a namespace of their own, sends real calls over every route under
    comparison, injects faults, and reports which differences are real.
  platforms:
{{- range .Platforms}}
  - selector:
      matchLabels: {os: {{.OS}}, arch: {{.Arch}}}
    uri: {{.URI}}
    sha256: {{.SHA256}}
    bin: {{.Bin}}
{{- end}}
`))

// krewPlatform is how krew installs the plugin on a platform.
type krewPlatform struct{ OS, Arch, URI, SHA256, Bin string }

// writeKrew writes the manifest with which krew installs the archives of programs as the plugin `kubectl rpclab`. The archives
// are beside the manifest, and users find them below url; without url, krew needs the archive on its command line.
func writeKrew(file, url string, programs []program) error {
	manifest := struct {
		Version   string
		Platforms []krewPlatform
	}{Version: programs[0].version}
	for _, p := range programs {
		name := p.archive()
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
		if err != nil {
			return err
		}
		added := krewPlatform{OS: p.os, Arch: p.arch, URI: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(text)), Bin: p.base() + "/rpclab"}
		if url != "" {
			added.URI = strings.TrimSuffix(url, "/") + "/" + name
		}
		manifest.Platforms = append(manifest.Platforms, added)
	}
	var out bytes.Buffer
	if err := krewManifest.Execute(&out, manifest); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

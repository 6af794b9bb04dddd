// Command krew packs programs as the plugin `kubectl rpclab` and writes the manifest with which krew installs it.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const usage = `usage: krew --version vX.Y.Z --url URL --output DIR SYSTEM/ARCHITECTURE=PROGRAM...

Packs each program into an archive in DIR, and writes DIR/rpclab.yaml. URL is where you publish the archives.`

// program is the name under which kubectl finds the plugin.
const program = "kubectl-rpclab"

// licences are the files that must go with the program.
var licences = []string{"LICENSE", "NOTICE", "THIRD_PARTY.md", "legal/npm.md"}

func main() {
	version := flag.String("version", "", "")
	url := flag.String("url", "", "")
	output := flag.String("output", "", "")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	flag.Parse()
	if *version == "" || *url == "" || *output == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := pack(*version, *url, *output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

// platform is how krew installs the plugin on one kind of machine.
type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Files  []file `json:"files"`
	Bin    string `json:"bin"`
}

type file struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func pack(version, url, output string, programs []string) error {
	var platforms []platform
	for _, p := range programs {
		name, path, _ := strings.Cut(p, "=")
		system, architecture, ok := strings.Cut(name, "/")
		if !ok || path == "" {
			return fmt.Errorf("%q is not SYSTEM/ARCHITECTURE=PROGRAM, such as linux/amd64=./rpclab", p)
		}
		archive, err := archiveOf(path)
		if err != nil {
			return err
		}
		base := fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, version, system, architecture)
		if err := os.WriteFile(filepath.Join(output, base), archive, 0o644); err != nil {
			return err
		}
		added := platform{URI: strings.TrimSuffix(url, "/") + "/" + base, SHA256: fmt.Sprintf("%x", sha256.Sum256(archive)), Files: []file{{program, "."}}, Bin: program}
		for _, name := range licences {
			added.Files = append(added.Files, file{name, filepath.Dir(name)})
		}
		added.Selector.MatchLabels = map[string]string{"os": system, "arch": architecture}
		platforms = append(platforms, added)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]string{"name": "rpclab"},
		"spec": map[string]any{
			"version": version, "shortDescription": "Compare how services call each other",
			"description": "Starts real servers in a namespace of their own, sends real calls over every route under\ncomparison, injects faults, and reports which differences are real.\n",
			"platforms":   platforms,
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(output, "rpclab.yaml"), text, 0o644)
}

// archiveOf packs a program and the licences. The same program always gives the same archive.
func archiveOf(path string) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	type member struct {
		name, path string
		mode       int64
	}
	members := []member{{program, path, 0o755}}
	for _, name := range licences {
		members = append(members, member{name, name, 0o644})
	}
	for _, member := range members {
		text, err := os.ReadFile(member.path)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: member.name, Mode: member.mode, Size: int64(len(text)), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(text); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}

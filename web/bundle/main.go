// Bundle builds the files that rpclab embeds from the TypeScript and CSS in web/src. Only `go generate`
// runs it. A test checks that the committed files are current.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

//go:generate go run .

// bundles are the entry points in web/src and the files that are built from them.
var bundles = []struct{ entry, to string }{
	{"report.ts", "internal/report/html/bundle/report.js"},
	{"report.css", "internal/report/html/bundle/report.css"},
	{"live.ts", "internal/web/bundle/live.js"},
	{"live.css", "internal/web/bundle/live.css"},
}

func main() {
	if err := generate("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// generate writes every bundle of the repository at root.
func generate(root string) error {
	if err := install(filepath.Join(root, "web")); err != nil {
		return err
	}
	for _, b := range bundles {
		code, err := bundle(filepath.Join(root, "web", "src", b.entry))
		if err != nil {
			return err
		}
		to := filepath.Join(root, b.to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, code, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// install installs the packages of web/package-lock.json, once.
func install(web string) error {
	lock, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return err
	}
	// The mark is a copy of the lock file of the last installation.
	mark := filepath.Join(web, "node_modules", ".installed-from")
	if installed, err := os.ReadFile(mark); err == nil && string(installed) == string(lock) {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is missing, which installs the packages of web/package-lock.json: install Node.js 20 or newer (Debian: apt-get install npm)")
	}
	command := exec.Command(npm, "ci", "--no-progress")
	command.Dir = web
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in web: %w\n%s", err, output)
	}
	return os.WriteFile(mark, lock, 0o644)
}

// bundle builds one entry point with its imports. The result is the same on every machine.
func bundle(entry string) ([]byte, error) {
	entry, err := filepath.Abs(entry)
	if err != nil {
		return nil, err
	}
	built := api.Build(api.BuildOptions{
		EntryPoints:       []string{entry},
		Bundle:            true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetASCII, // correct in a page of any encoding, and without line separators
		Format:            api.FormatIIFE,
		Target:            api.ES2022,
		LegalComments:     api.LegalCommentsNone, // their licences: web/README.md
		Outfile:           filepath.Base(entry),
		Write:             false,
	})
	if len(built.Errors) > 0 {
		messages := api.FormatMessages(built.Errors, api.FormatMessagesOptions{})
		return nil, errors.New(strings.Join(messages, ""))
	}
	return built.OutputFiles[0].Contents, nil
}

// Site builds the documentation site from the Markdown pages of the repository and from pages that it generates:
// `make site`. Decision 49 has the reasons.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	out := flag.String("out", "dist/site", "`directory` of the site, which is replaced")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		stop()
		os.Exit(1)
	}
	fmt.Printf("%s is complete: open index.html there, or serve it: python3 -m http.server --directory %s\n", *out, *out)
}

// run builds the program, whose commands the reference describes, and the site.
func run(ctx context.Context, out string) error {
	work, err := os.MkdirTemp("", "rpclab-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "rpclab")
	c := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/rpclab")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("go build ./cmd/rpclab: %w\nRun tools/site in the root of the repository", err)
	}
	return build(ctx, ".", program, out)
}

// build writes the site of the repository at root to out.
func build(ctx context.Context, root, program, out string) error {
	pages, err := os.MkdirTemp("", "rpclab-pages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(pages)
	sections, err := assemble(ctx, root, program, pages)
	if err != nil {
		return err
	}
	return errors.Join(mkdocs(ctx, root, pages, out, sections))
}

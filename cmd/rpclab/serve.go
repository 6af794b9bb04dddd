package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/experiments"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/web"
)

// serveFlags are what `rpclab serve` can be told.
type serveFlags struct {
	files []string
	live  liveFlags
}

func serveCommand() *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Show runs on a page: live, as trends, and compared",
		Long: `Serves a page that lists the runs that are kept, compares them, follows a figure
over the runs of an experiment, and starts, follows and stops a built-in
experiment on this machine, one at a time. Its API is at /api/v1; what that has
stands in /api/v1/openapi.json.

Only this machine can reach the page, unless --listen says otherwise, and then
whoever does has to know the token: log in on the page, or send it as
'Authorization: Bearer TOKEN'. There is no TLS: let a proxy add it, or reach the
page by 'ssh -L 8421:127.0.0.1:8421 HOST'.

Ctrl-C ends it. A run that goes on is stopped, and what was measured kept.`,
		Example: `  rpclab serve
  rpclab serve --experiment ./mine.yaml --metrics 127.0.0.1:9464
  RPCLAB_TOKEN=$(openssl rand -hex 16) rpclab serve --listen 0.0.0.0:8421`,
		Args: noArgs,
		RunE: withStore(func(c *cobra.Command, store *result.Store, _ []string) error { return f.serve(c, store) }),
	}
	flags := command.Flags()
	flags.StringVar(&f.live.listen, "listen", pageAddress, "`address` of the page; port 0: any that is free")
	flags.StringVar(&f.live.token, "token", "", "`secret` that who asks has to know (default: "+tokenInShell+", which other users of this machine do not see)")
	flags.StringArrayVar(&f.files, "experiment", nil, "a `file` whose experiment can be started from the page, besides the built-in ones, as often as needed")
	f.live.registerMetrics(flags)
	return command
}

func (f serveFlags) serve(c *cobra.Command, store *result.Store) (err error) {
	if err := f.live.check(); err != nil {
		return usage{err}
	}
	offered, err := f.offered()
	if err != nil {
		return usage{err}
	}
	out := c.ErrOrStderr()
	shown, err := f.live.open(out, store) // the metrics
	if err != nil {
		return err
	}
	defer shown.close(result.Document{}, nil)
	log := slog.New(slog.NewTextHandler(out, nil))
	interrupted := false
	page, err := web.New(web.Options{
		Store: store, Experiments: offered, Token: f.live.token, Hosts: hosts(f.live.listen), Watch: shown.meters, Log: log,
		Conduct: func(ctx context.Context, run web.Run, watch func(lab.Progress)) (result.Document, error) {
			fmt.Fprintf(out, "rpclab: run %s of %s begins\n", run.ID, run.Plan.Name)
			d, err := conductLocal(ctx, out, run.Plan, lab.Options{ID: run.ID, Kind: "local", Store: store, Command: run.Command, Progress: watch})
			interrupted = interrupted || c.Context().Err() != nil
			fmt.Fprintf(out, "rpclab: run %s %s\n", run.ID, endOf(d, err))
			return d, err
		},
	})
	if err != nil {
		return usage{err}
	}
	at, end, err := serve(f.live.listen, page.Handler(), log)
	if err != nil {
		page.Close()
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(out, "rpclab: the page is at http://%s/%s; Ctrl-C ends it\n", at, map[bool]string{true: ", for those who log in with the token"}[f.live.token != ""])
	<-c.Context().Done()
	page.Close()
	end()
	if interrupted {
		return context.Canceled
	}
	return nil
}

func conductLocal(ctx context.Context, out io.Writer, plan experiment.Plan, o lab.Options) (result.Document, error) {
	return conduct(ctx, plan, o, func(o *lab.Options) (cluster.Cluster, error) { return openLocal(out, plan, o) })
}

// endOf is how a run ended, in a word.
func endOf(d result.Document, err error) string {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return "failed: " + err.Error()
	case d.Partial || err != nil:
		return "was stopped"
	}
	return "is done"
}

// offered are the experiments that can be started: the built-in ones and files.
func (f serveFlags) offered() (all []web.Experiment, err error) {
	for _, name := range experiments.Names() {
		file, doc, err := experiments.Open(name)
		if err != nil {
			return nil, err
		}
		all = append(all, web.Experiment{Name: name, Said: name, File: file, Doc: doc})
	}
	for _, path := range f.files {
		if !strings.ContainsRune(path, '/') {
			path = "./" + path // a file it is, whatever its name
		}
		file, doc, err := openExperiment(path)
		if err != nil {
			return nil, fmt.Errorf("--experiment: %w", err)
		}
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".yaml"), ".yml")
		for _, other := range all {
			if other.Name == name {
				return nil, fmt.Errorf("--experiment %s: there is an experiment %s already; give the file another name", path, name)
			}
		}
		all = append(all, web.Experiment{Name: name, Said: path, File: file, Doc: doc})
	}
	return all, nil
}

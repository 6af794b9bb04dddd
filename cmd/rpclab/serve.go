package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/web"
)

// serveFlags are the flags of `rpclab serve`.
type serveFlags struct {
	files    []string
	services []string // files
	live     pageFlags
	keeping  storeFlags
}

func serveCommand() *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Show runs on a web page: live, as trends, and compared",
		Long: `Serves a web page that lists and compares stored runs and shows the trend of a
metric over the runs of an experiment. The page also starts, follows and stops
built-in experiments and loads on this machine, one at a time. They measure
rpclab's own servers, the services of --service, or a gRPC server at an address
on this machine that you type in. A load calls one method, or several by weight
or in order. /api/v1/openapi.json describes the API of the page.

By default only this machine can reach the page. With --listen on another
address, or with --host, clients need the token: log in on the page, or send the
header 'Authorization: Bearer TOKEN'. The page has no TLS: use a proxy, or reach
the page through 'ssh -L 8421:127.0.0.1:8421 HOST'.

Ctrl-C stops the server. It stops a run in progress and stores its measurements.`,
		Example: `  rpclab serve
  rpclab serve --service orders.yaml
  rpclab serve --experiment ./mine.yaml --metrics 127.0.0.1:9464
  rpclab serve --store-limit 2Gi
  RPCLAB_TOKEN=$(openssl rand -hex 16) rpclab serve --host lab.example.org
  RPCLAB_TOKEN=$(openssl rand -hex 16) rpclab serve --listen 0.0.0.0:8421`,
		Args: noArgs,
		RunE: withStore(result.OpenStore, func(c *cobra.Command, store *result.Store, _ []string) error { return f.serve(c, store) }),
	}
	flags := command.Flags()
	flags.StringVar(&f.live.listen, "listen", pageAddress, "`address` of the page; port 0 is any free port")
	flags.StringVar(&f.live.token, "token", "", "`secret` that clients need (default: the environment variable "+tokenVariable+", which other users cannot see)")
	flags.StringArrayVar(&f.files, "experiment", nil, "also offer the experiment in `file` on the page (repeatable)")
	flags.StringArrayVar(&f.services, "service", nil, "offer to measure the service in `file` (repeatable)")
	flags.StringSliceVar(&f.live.hosts, "host", nil, "also serve requests for this `name`, such as that of a proxy (repeatable; default: only addresses, localhost and the name of this machine)")
	f.live.registerMetrics(flags)
	f.keeping.registerLimit(flags)
	return command
}

func (f serveFlags) serve(c *cobra.Command, store *result.Store) (err error) {
	if err := errors.Join(f.live.checkAddresses(f.live.listen), os.Unsetenv(remoteWriteHeaders)); err != nil { // servers of its runs must not see them
		return usageError{err}
	}
	for _, host := range f.live.hosts {
		if host == "" || strings.ContainsAny(host, "/:") {
			return usageError{fmt.Errorf("--host %q: use a name without scheme, port and path, such as lab.example.org", host)}
		}
		if f.live.token == "" {
			return usageError{fmt.Errorf("--host %s: other machines can use this name and could start runs here: set a token, best in %s", host, tokenVariable)}
		}
	}
	offered, err := f.experiments()
	if err != nil {
		return usageError{err}
	}
	services, err := f.offeredServices()
	if err != nil {
		return usageError{err}
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
		Store: store, Experiments: offered, Services: services, Draft: draftOf, Token: f.live.token, Hosts: hostNames(f.live.listen, f.live.hosts...), Watch: shown.meters, Log: log,
		Conduct: func(ctx context.Context, run web.Run, watch func(lab.Progress)) (result.Document, error) {
			fmt.Fprintf(out, "rpclab: run %s of %s started\n", run.ID, run.Plan.Name)
			d, err := conductLocal(ctx, out, run.Plan, lab.Options{ID: run.ID, Kind: "local", Store: store, Command: run.Command, Progress: watch}, machineFlags{noWait: true})
			interrupted = interrupted || c.Context().Err() != nil
			fmt.Fprintf(out, "rpclab: run %s %s\n", run.ID, outcome(d, err))
			if err := f.keeping.apply(out, store); err != nil { // the run is whole all the same
				fmt.Fprintf(out, "rpclab: --store-limit: cannot remove the oldest runs: %v\n", err)
			}
			return d, err
		},
	})
	if err != nil {
		return usageError{err}
	}
	at, end, err := web.Listen(f.live.listen, page.Handler(), log)
	if err != nil {
		page.Close()
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(out, "rpclab: serving the page at http://%s/%s; press Ctrl-C to stop\n", at, map[bool]string{true: " (log in with the token)"}[f.live.token != ""])
	<-c.Context().Done()
	page.Close()
	end()
	if interrupted {
		return context.Canceled
	}
	return nil
}

// outcome describes how a run ended.
func outcome(d result.Document, err error) string {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return "failed: " + printable(err.Error()) // it may contain text of a server
	case d.Partial || err != nil:
		return "was stopped"
	}
	return "finished"
}

// experiments are the experiments that the page offers: the built-in ones and the files. Each has the name under which
// its runs are stored.
func (f serveFlags) experiments() (all []web.Experiment, err error) {
	owners := map[string]string{web.OneLoad: "a load on a service"}
	for _, name := range experiments.Names() {
		file, doc, err := experiments.Open(name)
		if err != nil {
			return nil, err
		}
		owners[name] = "a built-in experiment"
		all = append(all, web.Experiment{Name: name, RunName: name, File: file, Doc: doc})
	}
	for _, path := range f.files {
		if !strings.ContainsRune(path, '/') {
			path = "./" + path // a file, whatever its name
		}
		file, doc, err := openExperiment(path)
		if err != nil {
			return nil, fmt.Errorf("--experiment: %w", err)
		}
		read, err := experiment.Read(file, doc, lab.Vocabulary())
		if err != nil {
			return nil, fmt.Errorf("--experiment: %w", err)
		}
		if owner, taken := owners[read.Name]; taken {
			return nil, fmt.Errorf("--experiment %s: the page cannot tell its runs from those of %s, which has the name %s, too: change the field experiment", path, owner, read.Name)
		}
		owners[read.Name] = "--experiment " + path
		all = append(all, web.Experiment{Name: read.Name, RunName: path, File: file, Doc: doc})
	}
	return all, nil
}

// offeredServices are the services that the page offers.
func (f serveFlags) offeredServices() (all []web.Service, err error) {
	for _, path := range f.services {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--service: cannot read the service file: %w; write one with rpclab init HOST:PORT", err)
		}
		service, err := web.NewService(experiment.ServiceDocument{File: path, Text: text})
		if err != nil {
			return nil, fmt.Errorf("--service: %w", err)
		}
		for _, other := range all {
			if other.Name == service.Name {
				return nil, fmt.Errorf("--service %s: the name %s is taken; change the field service", path, service.Name)
			}
		}
		all = append(all, service)
	}
	return all, nil
}

// draftOf returns a service file of the methods at an address.
func draftOf(ctx context.Context, address string) ([]byte, error) {
	settings := draftSettings
	settings.Target = address
	return draftService(ctx, settings, "")
}

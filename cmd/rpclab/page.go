package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/web"
	"rpclab/internal/web/meters"
)

const (
	pageAddress   = "127.0.0.1:8421"
	tokenVariable = "RPCLAB_TOKEN"
)

var errListenWithoutWeb = errors.New("--listen is the address of the page: add --web")

// pageFlags select where a run in progress is shown.
type pageFlags struct {
	web             bool
	listen, metrics string
	token           string
	hosts           []string // more names that requests may use
}

func (f *pageFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.web, "web", false, "show the run in progress on a web page")
	flags.StringVar(&f.listen, "listen", pageAddress, "`address` of the page; see 'rpclab serve --help'")
	f.registerMetrics(flags)
}

func (f *pageFlags) registerMetrics(flags *pflag.FlagSet) {
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics of runs to Prometheus at `address`, such as 127.0.0.1:9464")
}

// check finds out before a run whether the addresses that it uses may be used.
func (f *pageFlags) check() error {
	if !f.web {
		return f.checkAddresses("")
	}
	return f.checkAddresses(f.listen)
}

// checkAddresses finds out whether the address of the page and that of the metrics may be used; empty: there is none.
// It removes the token from the environment, so that child processes do not inherit it.
func (f *pageFlags) checkAddresses(page string) error {
	if f.token == "" {
		f.token = os.Getenv(tokenVariable)
	}
	if err := os.Unsetenv(tokenVariable); err != nil {
		return err
	}
	if token := strings.TrimSpace(f.token); token != "" { // a Secret may end with a line break, which no client can send
		f.token = token
	}
	for _, at := range []struct{ flag, address string }{{"--listen", page}, {"--metrics", f.metrics}} {
		if at.address == "" {
			continue
		}
		if err := web.CheckAddress(at.address, f.token); err != nil {
			return fmt.Errorf("%s: %w", at.flag, err)
		}
	}
	return nil
}

// unreachable returns flags that show the run nowhere, for a run in a network of its own.
func (f pageFlags) unreachable(out io.Writer) pageFlags {
	if (f.web || f.metrics != "") && process.NetworkIsolated() { // this program starts again in the network
		fmt.Fprintln(out, "rpclab: warning: rpclab serves no page and no metrics of this run: it has a network of its own, because it drops packets (event cut, how: blackhole)")
	}
	return pageFlags{}
}

// liveView is where a run is shown.
type liveView struct {
	page    *web.Server // nil: nowhere
	meters  *meters.Meters
	closers []func()
	finish  func(result.Document, error)
}

// open starts the listeners and prints their addresses to out.
func (f pageFlags) open(out io.Writer, store *result.Store) (s *liveView, err error) {
	s = &liveView{meters: meters.New()}
	log := slog.New(slog.NewTextHandler(out, nil))
	defer func() {
		if err != nil {
			s.close(result.Document{}, nil)
		}
	}()
	if f.metrics != "" {
		at, err := s.listen(f.metrics, web.Guard(s.meters.Handler(), f.token, hostNames(f.metrics, f.hosts...), log), log)
		if err != nil {
			return s, fmt.Errorf("--metrics: %w", err) // not nil, for the deferred close
		}
		fmt.Fprintf(out, "rpclab: serving metrics at http://%s/metrics\n", at)
	}
	if f.web {
		if s.page, err = web.New(web.Options{Store: store, Token: f.token, Hosts: hostNames(f.listen, f.hosts...), Watch: s.meters, Log: log}); err != nil {
			return s, err
		}
		s.closers = append(s.closers, s.page.Close)
		at, err := s.listen(f.listen, s.page.Handler(), log)
		if err != nil {
			return s, fmt.Errorf("--listen: %w", err)
		}
		fmt.Fprintf(out, "rpclab: serving the page at http://%s/ until the run ends\n", at)
	}
	return s, nil
}

// listen serves at an address until [liveView.close].
func (s *liveView) listen(address string, handler http.Handler, log *slog.Logger) (at net.Addr, err error) {
	at, end, err := web.Listen(address, handler, log)
	if err == nil {
		s.closers = append([]func(){end}, s.closers...)
	}
	return at, err
}

// follow shows a run on the page. Call the returned function with the progress of the run.
func (s *liveView) follow(plan experiment.Plan, id string, stop context.CancelFunc) func(lab.Progress) {
	if s.page != nil {
		var show func(lab.Progress)
		show, s.finish = s.page.Follow(plan, id, stop)
		return show
	}
	s.meters.Begin(plan, id)
	s.finish = s.meters.End
	return s.meters.Show
}

// close shows the end of the run, and closes the listeners once the pages have received it.
func (s *liveView) close(d result.Document, err error) {
	if s.finish != nil {
		s.finish(d, err)
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// hostNames are the names of this machine, and more, that requests may use.
func hostNames(address string, more ...string) (names []string) {
	for _, name := range more {
		names = append(names, strings.ToLower(name))
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(name))
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		names = append(names, strings.ToLower(host))
	}
	return names
}

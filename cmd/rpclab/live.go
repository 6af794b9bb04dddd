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
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/web"
	"rpclab/internal/web/meters"
)

const (
	pageAddress  = "127.0.0.1:8421"
	tokenInShell = "RPCLAB_TOKEN"
)

// liveFlags say where a run is shown while it goes on.
type liveFlags struct {
	web             bool
	listen, metrics string
	token           string
}

func (f *liveFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.web, "web", false, "show the run on a page while it goes on")
	flags.StringVar(&f.listen, "listen", pageAddress, "`address` of the page of --web; see 'rpclab serve --help'")
	f.registerMetrics(flags)
}

func (f *liveFlags) registerMetrics(flags *pflag.FlagSet) {
	flags.StringVar(&f.metrics, "metrics", "", "show runs to Prometheus at `address`, such as 127.0.0.1:9464")
}

// check finds out before a run whether the addresses may be used, and takes the token out of
// the environment, which would pass it on to every child.
func (f *liveFlags) check() error {
	if f.token == "" {
		f.token = os.Getenv(tokenInShell)
	}
	if err := os.Unsetenv(tokenInShell); err != nil {
		return err
	}
	for _, at := range []struct{ flag, address string }{{"--listen", f.listen}, {"--metrics", f.metrics}} {
		if at.address == "" {
			continue
		}
		if err := web.CheckAddress(at.address, f.token); err != nil {
			return fmt.Errorf("%s: %w", at.flag, err)
		}
	}
	return nil
}

// shown is where a run is shown.
type shown struct {
	page   *web.Server // nil: nowhere
	meters *meters.Meters
	ends   []func()
	end    func(result.Document, error)
}

// open listens where a run is to be shown; that says on out where it is.
func (f liveFlags) open(out io.Writer, store *result.Store) (s *shown, err error) {
	s = &shown{meters: meters.New()}
	log := slog.New(slog.NewTextHandler(out, nil))
	defer func() {
		if err != nil {
			s.close(result.Document{}, nil)
		}
	}()
	if f.metrics != "" {
		at, err := s.listen(f.metrics, web.Guard(s.meters.Handler(), f.token, log), log)
		if err != nil {
			return nil, fmt.Errorf("--metrics: %w", err)
		}
		fmt.Fprintf(out, "rpclab: for Prometheus at http://%s/metrics\n", at)
	}
	if f.web {
		if s.page, err = web.New(web.Options{Store: store, Token: f.token, Hosts: hosts(f.listen), Watch: s.meters, Log: log}); err != nil {
			return nil, err
		}
		s.ends = append(s.ends, s.page.Close)
		at, err := s.listen(f.listen, s.page.Handler(), log)
		if err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
		fmt.Fprintf(out, "rpclab: the page is at http://%s/ until the run ends\n", at)
	}
	return s, nil
}

// listen serves at an address until close.
func (s *shown) listen(address string, handler http.Handler, log *slog.Logger) (at net.Addr, err error) {
	at, end, err := serve(address, handler, log)
	if err == nil {
		s.ends = append([]func(){end}, s.ends...)
	}
	return at, err
}

// follow shows a run; what it returns takes how that goes.
func (s *shown) follow(plan experiment.Plan, id string, stop context.CancelFunc) func(lab.Progress) {
	if s.page != nil {
		var show func(lab.Progress)
		show, s.end = s.page.Follow(plan, id, stop)
		return show
	}
	s.meters.Begin(plan, id)
	s.end = s.meters.End
	return s.meters.Show
}

// close shows the end of the run, and ends what shows it once that was read.
func (s *shown) close(d result.Document, err error) {
	if s.end != nil {
		s.end(d, err)
	}
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
}

// goodbye is how long connections may take to hear the last answer.
const goodbye = 3 * time.Second

// serve listens at an address until end is called.
func serve(address string, handler http.Handler, log *slog.Logger) (at net.Addr, end func(), err error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil, fmt.Errorf("another program listens at %s; name another address, with port 0 for any that is free", address)
	}
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("web", "error", err)
		}
	}()
	return listener.Addr(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}, nil
}

// hosts are the names by which other machines may ask for this one.
func hosts(address string) (names []string) {
	if name, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(name))
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		names = append(names, strings.ToLower(host))
	}
	return names
}

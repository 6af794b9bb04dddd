// Command peers runs load generators against the same servers and writes the cost of each to
// docs/findings/peers.md. It installs ghz, fortio and k6 into the user's cache with go install, and
// uses the system's h2load and wrk.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"rpclab/internal/process"
)

func main() {
	log.SetFlags(log.Ltime)
	rounds := flag.Int("rounds", 5, "rounds; each runs every generator once in every setting")
	out := flag.String("o", "docs/findings/peers.md", "the page to write")
	flag.Parse()
	if err := compare(*rounds, *out); err != nil {
		log.Fatalf("bench-peers: %v", err)
	}
}

// compare runs the benchmark and writes the page.
func compare(rounds int, out string) error {
	if _, err := os.Stat("api/rpclab/v1/greeter.proto"); err != nil {
		return fmt.Errorf("run this in the root of the repository: %w", err)
	}
	began := time.Now()
	dir, err := process.NewTempDir()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove() }()
	tools, err := install(dir.Path)
	if err != nil {
		return err
	}
	page := page{Rounds: rounds, Machine: machine()}
	servers, err := start(tools)
	if err != nil {
		return err
	}
	defer servers.stop()
	peers, err := generators(tools, dir.Path)
	if err != nil {
		return err
	}
	page.Peers = peers
	if page.Costs, page.Late, err = costs(peers, servers, rounds); err != nil {
		return err
	}
	if page.Stalls, err = stalls(peers, servers); err != nil {
		return err
	}
	page.Date, page.Took = time.Now().UTC().Format(time.DateOnly), time.Since(began).Round(time.Second)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page.markdown()), 0o644)
}

// servers are the servers that the generators call, each in its own process.
type servers struct {
	answerer, health, greeter, plain, web string // addresses
	processes                             map[string]*process.Process
}

func start(t tools) (*servers, error) {
	s := &servers{processes: map[string]*process.Process{}}
	const host = "127.0.0.1"
	for _, server := range []struct {
		addr *string
		args []string
	}{
		{&s.answerer, []string{t.answerer, "-listen"}},
		{&s.health, []string{t.answerer, "-reply", "health", "-listen"}},
		{&s.greeter, []string{t.rpclab, "server", "--listen"}},
		{&s.plain, []string{t.answerer, "-reply", "http", "-listen"}},
		{&s.web, []string{t.webserver, "-listen"}},
	} {
		port, err := freePort(host)
		if err != nil {
			return nil, err
		}
		*server.addr = fmt.Sprintf("%s:%d", host, port)
		p, err := process.Start(process.Spec{Args: append(server.args, *server.addr)})
		if err != nil {
			s.stop()
			return nil, err
		}
		s.processes[*server.addr] = p
		if err := awaitServer(*server.addr, p); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

// greeterProcess is the process of the grpc-go server.
func (s *servers) greeterProcess() *process.Process { return s.at(s.greeter) }

// at is the process that listens on an address.
func (s *servers) at(addr string) *process.Process { return s.processes[addr] }

func (s *servers) stop() {
	for _, p := range s.processes {
		p.Kill()
	}
}

// machine describes this machine, for the page.
func machine() string {
	uname, _ := exec.Command("uname", "-sr").Output()
	system, _, _ := strings.Cut(trimmed(uname), "-") // the rest is the distribution's name for it
	return fmt.Sprintf("%d CPUs%s, %s, %s%s", runtime.NumCPU(), cpuModel(), system, runtime.Version(), busy())
}

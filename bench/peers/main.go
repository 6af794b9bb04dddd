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
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: use 1 or more, because a page of no runs says nothing", rounds)
	}
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
	if page.Agreements, err = agreements(peers, servers, rounds); err != nil {
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

// machine describes this machine, for the page.
func machine() string {
	uname, _ := exec.Command("uname", "-sr").Output()
	system, _, _ := strings.Cut(trimmed(uname), "-") // the rest is the distribution's name for it
	return fmt.Sprintf("%d CPUs%s, %s, %s%s", runtime.NumCPU(), cpuModel(), system, runtime.Version(), busy())
}

package chain

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"rpclab/internal/cluster"
)

// metricsPort is where each server, on its own address, answers Prometheus.
const metricsPort = 9464

// metricsArgs make servers answer Prometheus, where each has an address of its own.
func metricsArgs() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	return []string{"--metrics", ":" + strconv.Itoa(metricsPort)}
}

// group is an entry of a file for Prometheus' file_sd_configs.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"` // job: gateway or server; mode
}

// groups are where Prometheus finds the gateway of a chain, and those servers that are
// ready now.
func (c *Chain) groups() []group {
	servers := []string{}
	now, _ := c.Servers.Endpoints().Now()
	for _, e := range now.Ready() {
		if metricsArgs() == nil {
			break
		}
		servers = append(servers, net.JoinHostPort(e.Addr.Addr().String(), strconv.Itoa(metricsPort)))
	}
	return []group{
		{[]string{c.Gateway.Address}, map[string]string{"job": "gateway", "mode": c.Route}},
		{servers, map[string]string{"job": "server", "mode": c.Route}},
	}
}

// KeepTargets writes a file for Prometheus (file_sd_configs), and again whenever servers
// come and go, until ctx ends; then it removes it. It fails if the file cannot be written
// the first time, or removed.
func KeepTargets(ctx context.Context, path string, chains []*Chain) error {
	if err := writeTargets(path, chains); err != nil {
		return err
	}
	var mu sync.Mutex
	var watching sync.WaitGroup
	for _, c := range chains {
		watching.Go(func() {
			c.Servers.Endpoints().Watch(ctx, func(cluster.Snapshot) {
				mu.Lock()
				defer mu.Unlock()
				_ = writeTargets(path, chains) // it was possible a moment ago
			})
		})
	}
	watching.Wait()
	return os.Remove(path)
}

// writeTargets replaces the file as a whole: Prometheus may read it at any time.
func writeTargets(path string, chains []*Chain) error {
	all := []group{}
	for _, c := range chains {
		all = append(all, c.groups()...)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(path), ".targets-*")
	if err != nil {
		return err
	}
	_, err = next.Write(append(text, '\n'))
	if closed := next.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(next.Name(), 0o644) // Prometheus may be another user
	}
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

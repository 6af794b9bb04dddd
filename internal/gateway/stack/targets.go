package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"rpclab/internal/cluster"
)

// targetGroup is an entry of a Prometheus file_sd_configs file.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"` // job: gateway or server; mode
}

// groups returns the addresses of the stack's gateway and of its ready servers.
func (s *Stack) groups() []targetGroup {
	servers := []string{}
	now, _ := s.Servers.Endpoints().Current()
	for _, e := range now.Ready() {
		if !s.Metrics {
			break
		}
		servers = append(servers, net.JoinHostPort(e.Addr.Addr().String(), strconv.Itoa(MetricsPort)))
	}
	return []targetGroup{
		{[]string{s.Address}, map[string]string{"job": "gateway", "mode": s.Route.Name}},
		{servers, map[string]string{"job": "server", "mode": s.Route.Name}},
	}
}

// CheckTargets returns an error if there is a file at path and WriteTargets has not written it. A lab that is
// killed leaves its file, which the next lab may replace.
func CheckTargets(path string) error {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	var all []targetGroup
	foreign := func(g targetGroup) bool {
		job, mode := g.Labels["job"], g.Labels["mode"]
		return len(g.Labels) != 2 || job != "gateway" && job != "server" ||
			!slices.ContainsFunc(Plans(), func(p Plan) bool { return p.Route.Name == mode })
	}
	if json.Unmarshal(text, &all) != nil || len(all) == 0 || slices.ContainsFunc(all, foreign) {
		return fmt.Errorf("%s exists and rpclab has not written it: the lab would replace the file, and remove it at the end", path)
	}
	return nil
}

// WriteTargets writes a Prometheus file_sd_configs file, and again whenever servers change,
// until ctx ends; then it removes the file. It fails if it cannot write the file for the first
// time or remove it.
func WriteTargets(ctx context.Context, path string, stacks []*Stack) error {
	if err := writeTargets(path, stacks); err != nil {
		return err
	}
	var mu sync.Mutex
	var watching sync.WaitGroup
	for _, s := range stacks {
		watching.Go(func() {
			s.Servers.Endpoints().Watch(ctx, func(cluster.Snapshot) {
				mu.Lock()
				defer mu.Unlock()
				_ = writeTargets(path, stacks) // the first write succeeded; the next change tries again
			})
		})
	}
	watching.Wait()
	return os.Remove(path)
}

// writeTargets replaces the file atomically, because Prometheus may read it at any time.
func writeTargets(path string, stacks []*Stack) error {
	all := []targetGroup{}
	for _, s := range stacks {
		all = append(all, s.groups()...)
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
		err = os.Chmod(next.Name(), 0o644) // Prometheus may run as another user
	}
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

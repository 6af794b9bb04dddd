package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
)

// filePoll is how often a file is checked for a change.
const filePoll = 250 * time.Millisecond

// ParseSource is the source that text names: http://API or https://API, a YAML file, or
// addresses (IP:port) separated by commas.
func ParseSource(text, service, namespace string) (Source, error) {
	switch {
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		if _, err := endpointslice.Client(text); err != nil { // fail here, not in the log
			return nil, fmt.Errorf("endpoints: %w", err)
		}
		return FromEndpointSlices(cluster.Service{Name: service, Namespace: namespace, API: strings.TrimRight(text, "/")}), nil
	case strings.HasSuffix(text, ".yaml"), strings.HasSuffix(text, ".yml"):
		return file(text), nil
	}
	var entries []entry
	for _, address := range strings.Split(text, ",") {
		entries = append(entries, entry{Address: address})
	}
	set, err := setOf(entries)
	if err != nil {
		return nil, err
	}
	return Static(set), nil
}

// setOf makes endpoints of entries, whose addresses must differ.
func setOf(entries []entry) (set endpointslice.Set, err error) {
	var wrong []error
	seen := map[netip.AddrPort]bool{}
	for _, entry := range entries {
		e, err := entry.endpoint()
		if err == nil && seen[e.Addr] {
			err = fmt.Errorf("endpoint %s is listed twice: remove one", e.Addr)
		}
		seen[e.Addr] = true
		wrong = append(wrong, err)
		set = append(set, e)
	}
	return set, errors.Join(wrong...)
}

// entry is a backend in a file: 127.0.0.1:50051 or {address: 127.0.0.1:50051, zone: zone-1}.
type entry struct {
	Address string `yaml:"address"`
	Zone    string `yaml:"zone"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (e *entry) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&e.Address)
	}
	type plain entry
	return node.Decode((*plain)(e))
}

func (e entry) endpoint() (endpointslice.Endpoint, error) {
	addr, err := netip.ParseAddrPort(strings.TrimSpace(e.Address))
	if err != nil || addr.Port() == 0 {
		return endpointslice.Endpoint{}, fmt.Errorf("endpoint %q must be an IP address and a port, such as 127.0.0.1:50051; "+
			"--endpoints also accepts FILE.yaml and http://API", e.Address)
	}
	return endpointslice.Endpoint{ID: addr.String(), Addr: addr, Zone: e.Zone, Ready: true, Serving: true}, nil
}

// file follows a file. A file that is invalid at first is an error; one that becomes invalid
// later is reported, and the last set stays.
func file(name string) Source {
	return func(ctx context.Context, update func(endpointslice.Set) error, failed func(error)) error {
		var known []byte
		reported := "" // the last error passed to failed
		tick := time.NewTicker(filePoll)
		defer tick.Stop()
		for {
			set, text, err := read(name)
			switch {
			case err != nil && known == nil:
				return err
			case err != nil && err.Error() != reported:
				reported = err.Error()
				failed(err)
			case err == nil && !bytes.Equal(text, known):
				known, reported = text, ""
				if err := update(set); err != nil {
					return err
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func read(name string) (set endpointslice.Set, text []byte, err error) {
	if text, err = os.ReadFile(name); err != nil {
		return nil, nil, err
	}
	var entries []entry
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, nil, fmt.Errorf("%s must be a YAML list of addresses: %w", name, err)
	}
	if entries == nil { // perhaps in the middle of a write, so this must not remove all backends
		return nil, nil, fmt.Errorf("%s is empty: it must be a YAML list of addresses, [] for none", name)
	}
	if set, err = setOf(entries); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, text, nil
}

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

// look is how often a file is looked at for a change.
const look = 250 * time.Millisecond

// ParseSource is the source that text names: http://API or https://API, a YAML file, or
// addresses (IP:port) with commas between them.
func ParseSource(text, service, namespace string) (Source, error) {
	switch {
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		if _, err := endpointslice.Client(text); err != nil { // rather here than in the log
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

// setOf makes endpoints of entries, each of another address.
func setOf(entries []entry) (set endpointslice.Set, err error) {
	var wrong []error
	seen := map[netip.AddrPort]bool{}
	for _, entry := range entries {
		e, err := entry.endpoint()
		if err == nil && seen[e.Addr] {
			err = fmt.Errorf("endpoint %s is there twice", e.Addr)
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
		return endpointslice.Endpoint{}, fmt.Errorf("endpoint %q is no IP address and port, such as 127.0.0.1:50051; "+
			"there may also be FILE.yaml or http://API", e.Address)
	}
	return endpointslice.Endpoint{ID: addr.String(), Addr: addr, Zone: e.Zone, Ready: true, Serving: true}, nil
}

// file follows a file. One that cannot be read any more changes nothing; a file that is
// wrong from the start is an error.
func file(name string) Source {
	return func(ctx context.Context, see func(endpointslice.Set) error, failed func(error)) error {
		var known []byte
		wrong := "" // what was said of it last
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			set, text, err := read(name)
			switch {
			case err != nil && known == nil:
				return err
			case err != nil && err.Error() != wrong:
				wrong = err.Error()
				failed(err)
			case err == nil && !bytes.Equal(text, known):
				known, wrong = text, ""
				if err := see(set); err != nil {
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
		return nil, nil, fmt.Errorf("%s: a list of addresses is wanted: %w", name, err)
	}
	if entries == nil { // as in the middle of a write; no backends at all are []
		return nil, nil, fmt.Errorf("%s is empty: a list of addresses is wanted, [] for none", name)
	}
	if set, err = setOf(entries); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, text, nil
}

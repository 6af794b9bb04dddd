//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// The cluster's addresses are in the range for benchmarks, which no network uses (RFC 2544, appendix C.2.2).
// No default route and no link to the machine leads out of the cluster.
const (
	apiHost      = "198.18.255.1" // the control plane's, on the bridge that joins the nodes
	apiAddress   = apiHost + ":6443"
	podRange     = "198.18.0.0/17"
	serviceRange = "198.19.0.0/16"
	firstService = "198.19.0.1" // of the API itself
	dnsService   = "198.19.0.10"
	maxNodes     = 9
)

// node is a node of the cluster.
type node struct {
	name string // n1, n2, …
	ip   string
	pods string // the range of their addresses
}

func someNodes(n int) (all []node, err error) {
	if n < 1 || n > maxNodes {
		return nil, fmt.Errorf("--nodes %d: use 1 to %d", n, maxNodes)
	}
	for i := 1; i <= n; i++ {
		all = append(all, node{fmt.Sprintf("n%d", i), fmt.Sprintf("198.18.255.%d", 10+i), fmt.Sprintf("198.18.%d.0/24", i)})
	}
	return all, nil
}

// connect connects the control plane and the nodes by a bridge, and adds routes between pods.
func connect(controlPlane *space, nodes []node, spaces []*space) error {
	center, err := networkOf(controlPlane)
	if err != nil {
		return err
	}
	defer center.Close()
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "nodes"}}
	if err := center.LinkAdd(bridge); err != nil {
		return fmt.Errorf("create a bridge: %w", err)
	}
	if err := center.raise("nodes", apiHost); err != nil {
		return err
	}
	for i, n := range nodes {
		cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: n.name, MasterIndex: bridge.Index},
			PeerName: "eth0", PeerNamespace: netlink.NsPid(spaces[i].pid)}
		if err := center.LinkAdd(cable); err != nil {
			return fmt.Errorf("connect %s with the bridge: %w", n.name, err)
		}
		err := errors.Join(center.raise(n.name, ""), center.route("nodes", n.pods, n.ip))
		if err == nil {
			err = nodeNetwork(spaces[i], n, nodes)
		}
		if err != nil {
			return fmt.Errorf("network of %s: %w", n.name, err)
		}
	}
	return nil
}

func nodeNetwork(s *space, own node, nodes []node) error {
	inside, err := networkOf(s)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := inside.raise("eth0", own.ip); err != nil {
		return err
	}
	// Without a default route a process of the node needs this to call a service.
	if err := inside.route("eth0", serviceRange, ""); err != nil {
		return err
	}
	for _, other := range nodes {
		if other != own {
			if err := inside.route("eth0", other.pods, other.ip); err != nil {
				return err
			}
		}
	}
	return nil
}

// network configures the network of a space.
type network struct{ *netlink.Handle }

func networkOf(s *space) (network, error) {
	ns, err := netns.GetFromPid(s.pid)
	if err != nil {
		return network{}, err
	}
	defer ns.Close()
	handle, err := netlink.NewHandleAt(ns)
	if err != nil {
		return network{}, err
	}
	return network{handle}, network{handle}.raise("lo", "")
}

// raise assigns an address, if any, to a link and enables the link.
func (n network) raise(name, ip string) error {
	link, err := n.LinkByName(name)
	if err != nil {
		return err
	}
	if ip != "" {
		own := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(24, 32)}}
		if err := n.AddrAdd(link, own); err != nil {
			return err
		}
	}
	return n.LinkSetUp(link)
}

// route adds a route to a range over a link, through a neighbour if via is set.
func (n network) route(name, to, via string) error {
	link, err := n.LinkByName(name)
	if err != nil {
		return err
	}
	prefix, err := netip.ParsePrefix(to)
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}}
	if via != "" {
		route.Gw = net.ParseIP(via)
	} else {
		route.Scope = netlink.SCOPE_LINK
	}
	return n.RouteAdd(route)
}

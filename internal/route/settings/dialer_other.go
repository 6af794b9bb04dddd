//go:build !linux

package settings

import "errors"

// limitLocalPorts fails: only Linux can limit the ports of a socket.
func limitLocalPorts(int, int, int) error {
	return errors.New("caller.limits.ports needs Linux 6.3 or newer")
}

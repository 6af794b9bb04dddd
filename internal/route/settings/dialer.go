package settings

import (
	"net"
	"syscall"
)

// firstLocalPort is where the local ports of a client with few ports begin. It is in the range that Linux uses by default.
const firstLocalPort = 40_000

// Dialer returns the dialer of a client's connections.
func (s Settings) Dialer() *net.Dialer {
	if s.LocalPorts == 0 {
		return &net.Dialer{}
	}
	return &net.Dialer{Control: func(_, _ string, socket syscall.RawConn) error {
		var failed error
		if err := socket.Control(func(fd uintptr) { failed = limitLocalPorts(int(fd), firstLocalPort, firstLocalPort+s.LocalPorts-1) }); err != nil {
			return err
		}
		return failed
	}}
}

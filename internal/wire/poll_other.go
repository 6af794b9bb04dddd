//go:build !linux

package wire

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// On other systems the Go runtime owns the sockets: each connection has a goroutine that reads and
// one that writes.

const hasSockets = false

type poller struct{ wakeup chan struct{} }

func newPoller() (*poller, error) { return &poller{make(chan struct{}, 1)}, nil }

func (p *poller) lowerPriority() {}
func (p *poller) setTimerSlack() {}

func (p *poller) wait(d time.Duration, _ bool) int {
	switch {
	case d == 0:
	case d < 0:
		<-p.wakeup
	default:
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-p.wakeup:
		case <-timer.C:
		}
	}
	return 0
}

func (p *poller) event(int) (slot, generation int32, read, write bool) { return -1, 0, false, false }

func (p *poller) wake() {
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

func (p *poller) queue(*socket, []byte) {}
func (p *poller) sendQueued()           {}

func (p *poller) close() {}

type socket struct{}

func (s *socket) read([]byte) (int, error)  { return 0, errors.ErrUnsupported }
func (s *socket) write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (s *socket) close()                    {}
func (s *socket) connected() error          { return errors.ErrUnsupported }

func (p *poller) connect(netip.AddrPort, netip.Addr, int32, int32) (*socket, error) {
	return nil, errors.ErrUnsupported
}

func (p *poller) adopt(net.Conn, int32, int32) (*socket, error) { return nil, nil }

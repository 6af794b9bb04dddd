package wire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Queued writes must arrive as single writes do: with io_uring, without it, and when it fails.
func TestQueuedWritesAreMadeOnce(t *testing.T) {
	for what, prepare := range map[string]func(*poller){
		"together":         func(*poller) {},
		"without io_uring": func(p *poller) { p.noRing = true },
		"after io_uring failed": func(p *poller) {
			unix.Close(p.ring.fd)
			p.ring.fd = -1
		},
	} {
		t.Run(what, func(t *testing.T) {
			p, err := newPoller()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			p.ring, err = newRing()
			switch {
			case err == nil:
				prepare(p)
			case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS): // as in many containers
				p.noRing = true
			default:
				t.Fatal(err)
			}
			writeQueued(t, p)
			if together := !p.noRing; together != (err == nil && what == "together") {
				t.Errorf("the writes were made together: %v", together)
			}
		})
	}
}

// writeQueued writes to more sockets than one system call does. One has a peer that is closed, and one
// has no room.
func writeQueued(t *testing.T, p *poller) {
	const sockets, closed, full = 2*ringSize + 3, 5, ringSize + 7
	var all [sockets]*socket
	var peers [sockets]int
	message := func(i int) []byte { return fmt.Appendf(nil, "message %d", i) }
	for i := range all {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		all[i], peers[i] = &socket{fd: pair[0], poller: p}, pair[1]
		defer all[i].close()
		if err := p.add(pair[0], int32(i), 0); err != nil {
			t.Fatal(err)
		}
		if i == closed {
			unix.Close(peers[i])
		} else {
			defer unix.Close(peers[i])
		}
	}
	for err := error(nil); err == nil; {
		_, err = unix.Write(all[full].fd, make([]byte, 1<<10))
	}
	for i, s := range all {
		p.queue(s, message(i))
	}
	p.sendQueued()
	got := make([]byte, 100)
	for i, s := range all {
		want := len(message(i))
		if i == closed || i == full {
			want = 0
		}
		if n, err := s.write(message(i)); n != want || err != nil {
			t.Errorf("socket %d wrote %d bytes, error %v; want %d", i, n, err, want)
		}
		switch {
		case i == closed:
			if !errors.Is(s.failed, unix.EPIPE) {
				t.Errorf("the socket without a peer failed with %v, want EPIPE", s.failed)
			}
		case i == full:
			if !s.writing {
				t.Error("the socket without room does not wait for it")
			}
		default:
			if n, err := unix.Read(peers[i], got); err != nil || !bytes.Equal(got[:n], message(i)) {
				t.Errorf("the peer of socket %d read %q, error %v; want %q once", i, got[:max(n, 0)], err, message(i))
			}
		}
	}
	if s := all[0]; s.sent.done {
		t.Error("a result was kept after its write")
	}
}

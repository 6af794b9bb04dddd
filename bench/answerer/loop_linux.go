package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"

	"golang.org/x/sys/unix"
)

// server serves all connections in one thread, with level-triggered epoll. It makes one read and
// one write for everything that has arrived on a connection.
type server struct {
	listener, poll int
	answers        answers
	connections    map[int32]*connection
	ended          tally
	count          bool // print ended when the last connection ends
}

// tally counts the connections that have ended, and the fewest and most calls of one.
type tally struct{ connections, least, most int }

func (t *tally) add(calls int) {
	if t.connections == 0 || calls < t.least {
		t.least = calls
	}
	t.most = max(t.most, calls)
	t.connections++
}

func listenOn(addr string, answers answers) (*server, string, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, "", err
	}
	if !at.Addr().Is4() {
		return nil, "", errors.New("not an IPv4 address")
	}
	s := &server{answers: answers, connections: map[int32]*connection{}}
	if s.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, "", err
	}
	if err := unix.Bind(s.listener, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return nil, "", err
	}
	if err := unix.Listen(s.listener, 4096); err != nil {
		return nil, "", err
	}
	bound, err := unix.Getsockname(s.listener)
	if err != nil {
		return nil, "", err
	}
	if s.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, "", err
	}
	port := bound.(*unix.SockaddrInet4).Port
	return s, net.JoinHostPort(at.Addr().String(), fmt.Sprint(port)), s.watch(s.listener)
}

func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// loop serves until the process ends.
func (s *server) loop() error {
	runtime.LockOSThread()
	events := make([]unix.EpollEvent, 256)
	buffer := make([]byte, 256<<10)
	for {
		n, err := unix.EpollWait(s.poll, events, -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("answerer: wait for connections: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if int(event.Fd) == s.listener {
				s.accept()
			} else if err := s.serve(event.Fd, buffer); err != nil {
				s.close(event.Fd)
			}
		}
	}
}

func (s *server) close(fd int32) {
	_ = unix.Close(int(fd))
	s.ended.add(s.connections[fd].calls)
	delete(s.connections, fd)
	if s.count && len(s.connections) == 0 {
		fmt.Printf("%d connections, %d to %d calls each\n", s.ended.connections, s.ended.least, s.ended.most)
		s.ended = tally{}
	}
}

func (s *server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		s.connections[int32(fd)] = &connection{answers: &s.answers}
		if s.watch(fd) != nil {
			_ = unix.Close(fd)
		}
	}
}

func (s *server) serve(fd int32, buffer []byte) error {
	c := s.connections[fd]
	n, err := unix.Read(int(fd), buffer)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return unix.ECONNRESET
	}
	if err := c.feed(buffer[:n]); err != nil {
		return err
	}
	out := c.out
	c.out = c.out[:0]
	for len(out) > 0 {
		n, err := unix.Write(int(fd), out)
		if err == unix.EAGAIN {
			// The client has not read megabytes of answers. Other clients wait with it.
			_, err = unix.Poll([]unix.PollFd{{Fd: fd, Events: unix.POLLOUT}}, -1)
		}
		if err != nil && err != unix.EINTR {
			return err
		}
		out = out[max(n, 0):]
	}
	return nil
}

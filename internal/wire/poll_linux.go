package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file holds all system calls of the engine on Linux: sockets that never block, one epoll
// instance for each thread, and waits in nanoseconds.

const hasSockets = true

// poller waits for sockets. Its events are level-triggered: data that a short read leaves causes
// another event.
type poller struct {
	epoll, wakeup int
	events        [256]unix.EpollEvent
	noPwait2      bool

	ring    *ring // nil: not yet needed, or noRing
	noRing  bool  // the kernel has none, or does not allow it
	sockets []*socket
	sends   []ringSend // of sockets
}

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wakeup, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, os.NewSyscallError("eventfd", err)
	}
	p := &poller{epoll: epoll, wakeup: wakeup}
	return p, p.add(wakeup, -1, 0)
}

// setTimerSlack makes timed waits of this thread end on time. By default the kernel may delay them
// by 50 µs.
func (p *poller) setTimerSlack() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// lowerPriority keeps this thread from preempting others when it wakes up.
func (p *poller) lowerPriority() {
	now, err := unix.SchedGetAttr(0, 0)
	if err != nil || now.Policy != unix.SCHED_NORMAL { // keep a policy that the user chose
		return
	}
	now.Policy = unix.SCHED_BATCH
	_ = unix.SchedSetAttr(0, now, 0)
}

func (p *poller) add(fd int, slot, generation int32) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, slot, generation, false)
}

func (p *poller) control(op, fd int, slot, generation int32, write bool) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: slot, Pad: generation}
	if write {
		e.Events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.epoll, op, fd, &e))
}

// maxHold is how long a wait may hold its place among the running goroutines of the Go runtime.
const maxHold = 5 * time.Millisecond

// wait returns the number of events, after d at the latest; d < 0: no limit.
//
// With hold, wait does not tell the runtime that it may block. For a thread that waits 10,000
// times a second this saves a seventh of its CPU time, since the runtime's monitor would check the
// thread every 20 µs. The runtime can still stop the thread, for a garbage collection for example:
// its signal ends the wait. A wait longer than maxHold continues as an ordinary one.
func (p *poller) wait(d time.Duration, hold bool) int {
	if d == 0 {
		return p.epollWait(0, true)
	}
	if hold {
		if d > 0 && d <= maxHold {
			return p.epollWait(d, true)
		}
		if n := p.epollWait(maxHold, true); n > 0 {
			return n
		}
		if d > 0 {
			d -= maxHold
		}
	}
	return p.epollWait(d, false)
}

// epollWait is epoll_pwait2(2). An interrupted wait has no events.
func (p *poller) epollWait(d time.Duration, raw bool) int {
	var limit *unix.Timespec
	if d >= 0 {
		t := unix.NsecToTimespec(int64(d))
		limit = &t
	}
	if p.noPwait2 { // before Linux 5.11: ppoll(2) also has nanoseconds
		_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(p.epoll), Events: unix.POLLIN}}, limit, nil)
		n, err := unix.EpollWait(p.epoll, p.events[:], 0)
		if err != nil {
			return 0
		}
		return n
	}
	var n uintptr
	var errno syscall.Errno
	epoll, at, room := uintptr(p.epoll), unsafe.Pointer(&p.events[0]), uintptr(len(p.events))
	if raw {
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, epoll, uintptr(at), room, uintptr(unsafe.Pointer(limit)), 0, 0)
	} else {
		n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, epoll, uintptr(at), room, uintptr(unsafe.Pointer(limit)), 0, 0)
	}
	if errno == syscall.ENOSYS {
		p.noPwait2 = true
		return p.epollWait(d, raw)
	}
	if errno != 0 {
		return 0
	}
	return int(n)
}

// event returns one of the events that wait counted. Its slot is -1 for wakeup.
func (p *poller) event(i int) (slot, generation int32, read, write bool) {
	e := &p.events[i]
	if e.Fd < 0 {
		var count [8]byte
		_, _ = unix.Read(p.wakeup, count[:])
	}
	return e.Fd, e.Pad, e.Events&^unix.EPOLLOUT != 0, e.Events&unix.EPOLLOUT != 0
}

// wake ends a wait, from any goroutine.
func (p *poller) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.wakeup, one[:])
}

func (p *poller) close() {
	if p.ring != nil {
		p.ring.close()
	}
	unix.Close(p.epoll)
	unix.Close(p.wakeup)
}

// socket is a TCP or Unix connection whose reads and writes never block. recv(2) and send(2) avoid the
// file system code that read(2) and write(2) go through.
type socket struct {
	fd               int
	poller           *poller
	slot, generation int32
	writing          bool     // EPOLLOUT is enabled
	failed           error    // of a write; a read returns it after the data that arrived before
	sent             ringSend // done: the next write returns its result
}

// queue prepares a write of p, which sendQueued makes. The socket's next write returns its result.
func (p *poller) queue(s *socket, out []byte) {
	p.sockets, p.sends = append(p.sockets, s), append(p.sends, ringSend{fd: s.fd, p: out})
}

// sendQueued makes the prepared writes with one system call. A single one, and those that the kernel
// does not make together, are left to the sockets' write.
func (p *poller) sendQueued() {
	if len(p.sends) > 1 && p.ring == nil && !p.noRing {
		var err error
		p.ring, err = newRing()
		p.noRing = err != nil
	}
	if len(p.sends) > 1 && !p.noRing {
		err := p.ring.send(p.sends)
		for i, s := range p.sockets {
			s.sent = p.sends[i]
			s.sent.p = nil
		}
		if err != nil {
			p.ring.close()
			p.ring, p.noRing = nil, true
		}
	}
	clear(p.sends)
	p.sockets, p.sends = p.sockets[:0], p.sends[:0]
}

func (s *socket) read(p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	switch errno {
	case 0:
		if n == 0 && s.failed != nil {
			return 0, s.failed
		}
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, errWouldBlock
	}
	return 0, os.NewSyscallError("recv", errno)
}

func (s *socket) write(p []byte) (int, error) {
	n, errno := s.send(p)
	switch errno {
	case 0:
	case unix.EPIPE, unix.ECONNRESET:
		s.failed = os.NewSyscallError("send", errno)
		fallthrough
	case unix.EAGAIN, unix.EINTR:
		n = 0
	default:
		return 0, os.NewSyscallError("send", errno)
	}
	if rest := n < len(p); rest != s.writing {
		s.writing = rest
		return n, s.poller.control(unix.EPOLL_CTL_MOD, s.fd, s.slot, s.generation, rest)
	}
	return n, nil
}

// send returns the result of the queued send of p, or makes one.
func (s *socket) send(p []byte) (int, syscall.Errno) {
	if s.sent.done {
		s.sent.done = false
		return s.sent.n, s.sent.err
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

func (s *socket) close() { unix.Close(s.fd) }

// connected returns how a connect in progress ended.
func (s *socket) connected() error {
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	s.writing = true // the next write disables EPOLLOUT
	return os.NewSyscallError("connect", err)
}

// connect starts to connect, from a source address if it is valid.
func (p *poller) connect(to netip.AddrPort, from netip.Addr, slot, gen int32) (*socket, error) {
	family := unix.AF_INET
	if to.Addr().Is6() && !to.Addr().Is4In6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if from.IsValid() {
		// connect chooses the port, so that address pairs are unique instead of ports.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(from, 0))); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("from %s: %w", from, os.NewSyscallError("bind", err))
		}
	}
	socket := &socket{fd: fd, poller: p, slot: slot, generation: gen, writing: true}
	if err := unix.Connect(fd, sockaddr(to)); err != nil && err != unix.EINPROGRESS {
		unix.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	if err := p.control(unix.EPOLL_CTL_ADD, fd, slot, gen, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return socket, nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Addr: ip.As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
}

// adopt takes over an open TCP or Unix connection. It returns nil for other connections, which stay with
// the Go runtime.
func (p *poller) adopt(conn net.Conn, slot, gen int32) (*socket, error) {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil, nil
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if cerr := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil {
		err = cerr
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("dup", err), conn.Close())
	}
	_ = conn.Close() // the duplicate keeps the connection open
	if err := p.add(fd, slot, gen); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &socket{fd: fd, poller: p, slot: slot, generation: gen}, nil
}

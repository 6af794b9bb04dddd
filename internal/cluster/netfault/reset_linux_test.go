package netfault

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Java virtual machines and servers on gRPC Core accept calls of IPv4 on sockets of IPv6.
func TestConnectionsOfBothFamiliesAreReset(t *testing.T) {
	const port = 45999
	except := netip.MustParseAddr("127.64.9.1")
	for i, family := range []int{unix.AF_INET, unix.AF_INET6} {
		t.Run(map[int]string{unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6"}[family], func(t *testing.T) {
			host := netip.AddrFrom4([4]byte{127, 64, 9, byte(10 + i)})
			listener := listen(t, family, netip.AddrPortFrom(host, port))
			cut, kept := dial(t, listener, netip.Addr{}), dial(t, listener, except)
			if err := ResetConnections(netip.AddrPortFrom(host, port), except); err != nil {
				t.Fatal(err)
			}
			if err := read(t, cut); !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the connection ended with %v, want a reset", err)
			}
			if err := read(t, kept); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection from %s ended with %v, want it open", except, err)
			}
		})
	}
}

// listen opens a socket of a family at an address of IPv4.
func listen(t *testing.T, family int, at netip.AddrPort) net.Listener {
	t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), fmt.Sprint("listener at ", at))
	defer file.Close()
	var address unix.Sockaddr = &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	if family == unix.AF_INET6 {
		address = &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, address), unix.Listen(fd, 8)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// dial connects to a listener, from an address if it is valid. The listener accepts the connection.
func dial(t *testing.T, to net.Listener, from netip.Addr) net.Conn {
	t.Helper()
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if from.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := dialer.Dial("tcp", to.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	accepted, err := to.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return conn
}

// read waits half a second for the end of a connection.
func read(t *testing.T, conn net.Conn) error {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

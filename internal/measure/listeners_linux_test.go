package measure

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheProcessThatListensOnAnAddressIsFound(t *testing.T) {
	for _, at := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}, {"tcp", "0.0.0.0:0"}, {"tcp", ":0"}, {"unix", filepath.Join(t.TempDir(), "socket")},
	} {
		listener, err := net.Listen(at.network, at.address)
		if err != nil {
			t.Logf("%s cannot listen on %s: %v", at.network, at.address, err) // a machine without IPv6
			continue
		}
		address := listener.Addr().String()
		if at.network == "unix" {
			address = "unix:" + address
		} else if tcp := listener.Addr().(*net.TCPAddr); tcp.IP.IsUnspecified() {
			tcp.IP = net.IPv4(127, 0, 0, 1)
			address = tcp.String()
		}
		if got, listening := Listeners(address); !listening || !slices.Equal(got, []int{os.Getpid()}) {
			t.Errorf("on %s the processes %v listen, want this one, %d", address, got, os.Getpid())
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		if got, listening := Listeners(address); listening || len(got) > 0 {
			t.Errorf("after the listener on %s is closed, the processes %v listen, want none", address, got)
		}
	}
}

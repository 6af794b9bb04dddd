package measure

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
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

func TestWhetherAProcessListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	address := listener.Addr().String()
	for pid, want := range map[int]bool{os.Getpid(): true, other.Process.Pid: false} {
		if got, known := TreeListens(pid, address); got != want || !known {
			t.Errorf("process %d listens: %t (known: %t), want %t", pid, got, known, want)
		}
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if got, known := TreeListens(os.Getpid(), address); got || known {
		t.Errorf("without a listener: %t (known: %t), want that it is not known", got, known)
	}
}

// The CPU time of a server in a container is that of another process than the one that listens on its published port.
func TestTheServerBehindAPublishedPortIsNotKnown(t *testing.T) {
	if os.Getenv("RPCLAB_TEST_LISTEN") != "" { // in the process below
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(listener.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"docker-proxy": false, "orders": true} {
		link := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(program, link); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(link, "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), "RPCLAB_TEST_LISTEN=1")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var address string
		if _, err := fmt.Fscanln(out, &address); err != nil {
			t.Fatal(err)
		}
		if pids, known := LocalListeners([]string{address}); known != want || want && !slices.Equal(pids, []int{c.Process.Pid}) {
			t.Errorf("%s, process %d: the processes are %v (known: %t), want known: %t", name, c.Process.Pid, pids, known, want)
		}
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	}
}

package conformance

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/tool"
)

// startWithin is how long a server may need to start. A Java server needs more than a minute on a busy machine.
const startWithin = 5 * time.Minute

// start runs a server until the test ends and waits until it listens on addr.
func start(t *testing.T, addr string, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Spec{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(5 * time.Second)
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", filepath.Base(args[0]), p.Log())
		}
	})
	testkit.AwaitFor(t, startWithin, args[0]+" listens on "+addr, func() bool {
		select {
		case <-p.Done():
			t.Fatalf("%s ended before it listened on %s: %v\n%s", args[0], addr, p.Err(), p.Log())
		default:
		}
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return p
}

// backends starts an `rpclab server` for each identity and returns their addresses.
func backends(t *testing.T, ids []string) (addrs []string) {
	t.Helper()
	for _, id := range ids {
		addr := free(t)
		start(t, addr, testkit.Rpclab(t), "server", "--listen", addr, "--id", id)
		addrs = append(addrs, addr)
	}
	return addrs
}

// given are the ports that free has returned.
var given sync.Map

// free returns an unused loopback address, which no other test gets: a server may take seconds to listen. Its port
// is below the range for outgoing connections, so none of them can occupy it.
func free(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("no free port between 10000 and 30000 on 127.0.0.1")
	return ""
}

// proxy is the data for the configuration templates in testdata.
type proxy struct {
	Listen   string   // host:port
	Inner    string   // host:port, for one that talks to itself
	Backends []string // host:port
	Dir      string   // the only place that it may write to
}

// Port returns the port of host:port.
func (proxy) Port(addr string) string {
	_, port, _ := strings.Cut(addr, ":")
	return port
}

// configured executes the template testdata/name and returns the path of the file.
func (p proxy) configured(t *testing.T, name string) string {
	t.Helper()
	text, err := template.ParseFiles(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.Dir, name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := text.Execute(file, p); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a tool that rpclab installs.
func installed(t *testing.T, program tool.Tool) string {
	t.Helper()
	path, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// debian returns the path of a program from a Debian package, even if PATH lacks sbin.
func debian(t *testing.T, name, pack string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing: run `make test-tools`, or install the package %s (Debian: apt-get install %s)", name, pack, pack)
	return ""
}

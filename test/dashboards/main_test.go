// Package dashboards tests the dashboards on a real Prometheus that scrapes real gateways and servers under
// load, and what a run sends to Prometheus and to the receiver of the OpenTelemetry collector.
package dashboards

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fresh is an HTTP client that opens a connection for each request.
var fresh = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// start runs a program until the test ends and waits until it is ready. It must leave no process.
func start(t *testing.T, ready func() bool, args ...string) {
	t.Helper()
	p, err := process.Start(process.Spec{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(args[0]) + " " + args[1]
	t.Cleanup(func() {
		family := process.Tree(p.Pid())
		p.Stop(stopWithin)
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", name, p.Log())
		}
		testkit.Await(t, fmt.Sprintf("the end of all processes of %s, %v", name, family), func() bool {
			return !slices.ContainsFunc(family, func(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH })
		})
	})
	testkit.AwaitFor(t, startWithin, name+" is ready", func() bool {
		select {
		case <-p.Done():
			t.Fatalf("%s ended: %v\n%s", name, p.Err(), p.Log())
		default:
		}
		return ready()
	})
}

// answers reports whether a URL answers.
func answers(url string) func() bool {
	return func() bool {
		answer, err := fresh.Get(url)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
}

// free returns an unused address of this machine.
func free(t *testing.T) string {
	t.Helper()
	at, err := route.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// listens reports whether a program accepts connections at an address.
func listens(at string) func() bool {
	return func() bool {
		connection, err := net.Dial("tcp", at)
		if err != nil {
			return false
		}
		connection.Close()
		return true
	}
}

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

// shared is output that can be read while a program writes it.
type shared struct {
	sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.Lock()
	defer s.Unlock()
	return s.text.String()
}

const watched = `
experiment: watched
question: Does a run end while its page is under attack?
defaults: {workload: {greet: {delay: 1ms}}, load: {burst: 10}}
arms: {one: {route: clusterip}, two: {route: endpointslice}}
rounds: 4
`

var pageAddress = regexp.MustCompile(`serving the page at http://(127\.0\.0\.1:\d+)/`)

// TestSlowLoginsLeaveTheFilesOfTheRun sends 800 logins, whose bodies never end, to the page of a run
// that may open 512 files.
func TestSlowLoginsLeaveTheFilesOfTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "watched.yaml")
	if err := os.WriteFile(file, []byte(watched), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, dir, "-c", `ulimit -n 512; exec "$0" "$@"`, testkit.Rpclab(t), "run", file, "--web", "--listen", "127.0.0.1:0")
	c.Path = "/bin/sh"
	c.Env = append(c.Env, "RPCLAB_TOKEN=0123456789abcdef")
	var said shared
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the address of the page", func() bool { return pageAddress.MatchString(said.String()) })
	address, most := pageAddress.FindStringSubmatch(said.String())[1], 0
	for range 800 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			break // the run has ended
		}
		defer connection.Close()
		fmt.Fprintf(connection, "POST /login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=", address)
		if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid)); err == nil {
			most = max(most, len(files))
		}
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	if err := c.Wait(); err != nil || strings.Contains(said.String(), "too many open files") {
		t.Errorf("the run ended with %v\n%.3000s", err, said.String())
	}
	if most < 64 || most > 256 {
		t.Errorf("under attack the run had %d open files, want 64 connections of the page and its own", most)
	}
}

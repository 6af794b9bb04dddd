package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// watched lasts until the page is under attack: at least 12 s.
const watched = `
experiment: watched
question: Does a run end while its page is under attack?
defaults: {workload: {greet: {delay: 1ms}}, load: {open: {rate: 10, duration: 3s}}}
arms: {one: {route: clusterip}, two: {route: endpointslice}}
rounds: 2
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
	open := func() int {
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid)) // none of a process that has ended
		most = max(most, len(files))
		return len(files)
	}
	for range 800 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			break // the run has ended
		}
		defer connection.Close()
		fmt.Fprintf(connection, "POST /login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=", address)
		open()
	}
	testkit.Await(t, "the page has 64 connections, or the run has ended", func() bool { return open() == 0 || most >= 64 })
	late := time.AfterFunc(3*time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	if err := c.Wait(); err != nil || strings.Contains(said.String(), "too many open files") {
		t.Errorf("the run ended with %v\n%.3000s", err, said.String())
	}
	if most < 64 || most > 256 {
		t.Errorf("under attack the run had %d open files, want 64 connections of the page and its own", most)
	}
}

// servePage starts the page for the experiment small with a limit of the store, and a run from it.
func servePage(t *testing.T, data string) (c *exec.Cmd, said *shared, address string) {
	t.Helper()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	c = command(t, data, "serve", "--listen", "127.0.0.1:0", "--experiment", file, "--store-limit", "1Mi")
	said = &shared{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the server says where it is", func() bool { return pageAddress.MatchString(said.String()) })
	address = pageAddress.FindStringSubmatch(said.String())[1]
	response, err := http.Post("http://"+address+"/api/v1/runs", "application/json", strings.NewReader(`{"experiment":"small"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusAccepted {
		t.Fatalf("the run has status %s, want 202: %v", response.Status, err)
	}
	return c, said, address
}

// The page removes the oldest runs after each run, too.
func TestThePageKeepsTheStoreToItsLimit(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 40) // of 30 KB each
	c, said, _ := servePage(t, data)
	testkit.Await(t, "the oldest runs are removed", func() bool {
		return strings.Contains(said.String(), "rpclab: removed the oldest runs, because of --store-limit 1Mi: run-39")
	})
	if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Errorf("the server ended with %v\n%s", err, said.String())
	}
	if left := stored(t, data); len(left) < 10 || len(left) > 38 || left[0] != "run-00" {
		t.Errorf("%v are left, want the newest that fit into 1 MiB", left)
	}
}

// A run whose page cannot remove the oldest runs afterwards has not failed.
func TestThePageFinishesARunWithoutRoomInTheStore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 40)
	store, err := sql.Open("sqlite", filepath.Join(data, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Exec("CREATE TRIGGER keep BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'kept'); END"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	c, said, address := servePage(t, data)
	testkit.Await(t, "the server cannot remove the oldest runs", func() bool {
		return strings.Contains(said.String(), "rpclab: --store-limit: cannot remove the oldest runs: ") && strings.Contains(said.String(), "finished")
	})
	var state struct{ Phase string }
	testkit.Await(t, "the run has ended", func() bool {
		response, err := http.Get("http://" + address + "/api/v1/live")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return json.NewDecoder(response.Body).Decode(&state) == nil && state.Phase != "running"
	})
	if state.Phase != "done" {
		t.Errorf("the page says that the run is %s, want done", state.Phase)
	}
	if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Errorf("the server ended with %v\n%s", err, said.String())
	}
}

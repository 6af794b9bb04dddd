package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"rpclab/internal/experiment"
)

// A data file can have 16 MB, and a plan hundreds of trials.
func TestTrialsWithEqualCallsReadTheirDataOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ids.csv")
	if err := os.WriteFile(file, []byte("id\n7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expanded, err := experiment.Expand(filepath.Join(dir, "x.yaml"), []byte(`
experiment: x
question: q?
services:
  shop: {server: {addresses: ["127.0.0.1:1"]}, calls: {put: {http: POST, path: /, data: "@ids.csv"}, get: {http: GET, path: /}}}
defaults: {service: shop, workload: {call: put}, route: direct, caller: {kind: http}, load: {burst: 5}}
arms: {a: {}, b: {caller: {timeout: 3s}}, c: {workload: {call: get}}}
rounds: 4
`), experiment.Options{}, Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(expanded)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]*byte{} // by arm
	for _, one := range plan.trials {
		call := one.job.Calls[0]
		if want := map[string]string{"a": "id\n7\n", "b": "id\n7\n", "c": ""}[one.Arm]; call.Data != want || call.Stream.Timeout != one.Config.Caller.Timeout {
			t.Errorf("arm %s: data %q, timeout %v; want %q and %v", one.Arm, call.Data, call.Stream.Timeout, want, one.Config.Caller.Timeout)
		}
		one.job.Calls[0].Protos = []byte(one.Arm) // as a description of the server does
		if call.Data != "" {
			data[one.Arm] = append(data[one.Arm], unsafe.StringData(call.Data))
		}
	}
	for name, all := range data {
		if len(slices.Compact(all)) != 1 {
			t.Errorf("the trials of arm %s have copies of their data", name)
		}
	}
	for _, one := range plan.trials {
		if got := string(one.job.Calls[0].Protos); got != one.Arm {
			t.Errorf("a trial of arm %s has the description of one of arm %s", one.Arm, got)
		}
	}
}

// A device has no end.
func TestAFileIsReadUpToItsLimit(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "endless")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan int)
	go func() {
		n := 0
		if to, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			for part := bytes.Repeat([]byte("1\n"), 1<<19); n < 4*maxDataFile; {
				wrote, err := to.Write(part)
				if n += wrote; err != nil {
					break
				}
			}
			_ = to.Close()
		}
		written <- n
	}()
	if _, err := readData(pipe); err == nil || !strings.Contains(err.Error(), "has more than 16777216 bytes: shorten it") {
		t.Errorf("error %v, want that it has more than 16777216 bytes", err)
	}
	if n := <-written; n > maxDataFile+1<<21 {
		t.Errorf("%d bytes were read", n)
	}
}

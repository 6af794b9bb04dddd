package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadOfService makes a load on a service at these addresses.
func loadOfService(t *testing.T, addresses, call string, args ...string) error {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.yaml")
	if err := os.WriteFile(file, []byte("service: shop\nserver: {addresses: ["+addresses+"]}\ncalls: {get: {"+call+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := root()
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	command.SetArgs(append([]string{"load", "--service", file, "--no-store", "--no-wait", "--calls", "1"}, args...))
	return command.Execute()
}

func TestABalanceThatCannotApplyIsRefused(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for _, test := range []struct{ addresses, call, balance, want string }{ // empty: the load is made, and fails
		{"'127.0.0.1:1'", "method: a.B/C", "nope", "--balance nope: unknown policy"},
		{"'127.0.0.1:1', '127.0.0.2:1'", "method: a.B/C", "nope", "--balance nope: unknown policy"},
		{"'127.0.0.1:1'", "method: a.B/C", "round_robin", "--balance round_robin chooses among several addresses, and the service shop has one"},
		{"'127.0.0.1:1'", "http: GET, path: /x", "round_robin", "--balance round_robin chooses among several addresses, and the service shop has one"},
		{"'127.0.0.1:1', '127.0.0.2:1'", "http: GET, path: /x", "round_robin", "--balance round_robin applies to gRPC"},
		{"'127.0.0.1:1'", "method: a.B/C", "pick_first", ""},
	} {
		err := loadOfService(t, test.addresses, test.call, "--balance", test.balance)
		if test.want == "" && exitCode(err) == exitLab {
			continue
		}
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: exit code %d, %v", test, exitCode(err), err)
		}
	}
}

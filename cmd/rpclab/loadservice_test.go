package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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
	command.SetArgs(append([]string{"load", "--service", file, "--no-store", "--no-wait"}, args...))
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
		err := loadOfService(t, test.addresses, test.call, "--calls", "1", "--balance", test.balance)
		if test.want == "" && exitCode(err) == exitLab {
			continue
		}
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: exit code %d, %v", test, exitCode(err), err)
		}
	}
}

func TestErrorsOfALoadOnAServiceNameTheFlags(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for args, want := range map[string]string{
		"--rate 5000 --calls 1":                   "the time of --calls 1 at --rate 5000 must be 1ms to 24h, not 200µs: use more calls or a lower rate",
		"--rate 0.01 --calls 90000":               "the time of --calls 90000 at --rate 0.01 must be 1ms to 24h, not 2500h0m0s: use fewer calls or a higher rate",
		"--rate 0.001 --calls 900000000000000000": "the time of --calls 900000000000000000 at --rate 0.001 must be 1ms to 24h, not 277777h46m40s: use fewer calls or a higher rate",
		"--rate 5 --duration 500us":               "--duration must be 1ms to 24h, not 500µs",
		"--duration 500h":                         "--duration must be 0s to 24h, not 500h0m0s",
		"--connections 20000":                     "--connections must be 1 to 10000, not 20000",
		"--timeout 5h":                            "--timeout must be 1ms to 1h, not 5h0m0s",
		"--warmup 200000":                         "--warmup must be 0 to 100000, not 200000",
		"--warmup-max 30h":                        "--warmup-max must be 0s to 10m, not 30h0m0s",
		"--think 25h":                             "--think must be 0s to 1h, not 25h0m0s",
		"--calls 9000000000":                      "--calls must be 1 to 1000000000, not 9000000000",
		"--timeout 5h --warmup 200000":            "--timeout must be 1ms to 1h, not 5h0m0s\n--warmup must be 0 to 100000, not 200000",
	} {
		err := loadOfService(t, "'127.0.0.1:1'", "method: a.B/C", strings.Fields(args)...)
		if err == nil || exitCode(err) != exitUsage || err.Error() != want {
			t.Errorf("%s: exit code %d\n got %v\nwant %s", args, exitCode(err), err, want)
		}
	}
}

// HTTP requests over one connection would not be what the caller makes.
func TestConnectionsOfHTTPRequestsAreRefused(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for connections, want := range map[string]string{
		"1": "--connections 1 works with gRPC: ", "10": "--connections 10 works with gRPC: ",
		"per-call": "",
	} {
		err := loadOfService(t, "'127.0.0.1:1'", "http: GET, path: /x", "--calls", "1", "--connections", connections)
		if want == "" && exitCode(err) == exitLab { // the load is made, and fails
			continue
		}
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("--connections %s: exit code %d, %v; want %q", connections, exitCode(err), err, want)
		}
	}
}

func TestErrorsOfAStreamNameTheFlag(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	dir := t.TempDir()
	file, proto := filepath.Join(dir, "watch.yaml"), filepath.Join(dir, "watch.proto")
	for name, text := range map[string]string{
		file:  "service: watch\nserver: {addresses: ['127.0.0.1:1']}\nproto: [watch.proto]\ncalls: {watch: {method: w.W/Watch, stream: {duration: 30s}}}\n",
		proto: "syntax = \"proto3\";\npackage w;\nmessage M {}\nservice W { rpc Watch(M) returns (stream M); }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := root()
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	command.SetArgs([]string{"load", "--service", file, "--no-store", "--no-wait", "--calls", "3"})
	err := command.Execute()
	if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), "watch.yaml:4:") || !strings.HasSuffix(err.Error(), ": raise --timeout") {
		t.Errorf("exit code %d, %v; want the line, and to raise --timeout", exitCode(err), err)
	}
}

// The help names the flags that work with --service by their order.
func TestTheHelpNamesTheFlagsOfAService(t *testing.T) {
	const says = `flags up to --insecure-skip-verify, it accepts --call, --flow, --mix, --engine,
--seed and those from --balance to --connections, but not --authority and
--stages: the file says how to call.`
	command := loadCommand()
	if !strings.Contains(command.Long, says) {
		t.Errorf("the help lacks %q", says)
	}
	var names []string // in the order of the help
	command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	want := append([]string{"service", "call", "flow", "mix", "engine", "seed"}, names[slices.Index(names, "balance"):slices.Index(names, "connections")+1]...)
	want = slices.DeleteFunc(want, func(name string) bool { return name == "authority" || name == "stages" })
	got := slices.DeleteFunc(slices.Concat(serviceLoadFlags, serviceOutputFlags), func(name string) bool {
		return slices.Index(names, name) > slices.Index(names, "insecure-skip-verify")
	})
	slices.Sort(got)
	if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the flags that --service accepts are %v, and the help says %v", got, want)
	}
}

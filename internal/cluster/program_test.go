package cluster_test

import (
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/cluster"
)

func TestAProgramIsCheckedBeforeItIsStarted(t *testing.T) {
	serve := []string{"./orders", "{{.Address}}"}
	for _, test := range []struct {
		program cluster.Program
		want    string // empty: no error
	}{
		{cluster.Program{Command: serve}, ""},
		{cluster.Program{Command: serve, Env: []string{"NAME={{.ID}}", "EMPTY="}, Signal: "SIGINT", Ready: cluster.Ready{Kind: "http", Path: "/"}}, ""},
		{cluster.Program{Command: []string{`{{if eq .Port 80}}{{.Host}}{{else}}{{printf "%s:%d" .Host .Port}}{{end}}`}}, ""},
		{cluster.Program{Image: "orders:1"}, ""},
		{cluster.Program{Image: "orders:1", Command: []string{"{{.Adress}}"}}, `server.args, argument 0 ({{.Adress}}): no field {{.Adress}}; did you mean "Address"?`},
		{cluster.Program{}, "server.command is empty; it needs a program and its arguments"},
		{cluster.Program{Command: []string{"./orders", "{{.Addres}}"}}, `server.command, argument 1 ({{.Addres}}): no field {{.Addres}}; did you mean "Address"?`},
		{cluster.Program{Command: []string{"./orders", "{{if .Prt}}x{{end}}"}}, `no field {{.Prt}}; did you mean "Port"?`},
		{cluster.Program{Command: []string{"./orders", "{{.Address"}}, "server.command, argument 1 ({{.Address): unclosed action"},
		{cluster.Program{Command: []string{"./orders", "{{.Address.Port}}"}}, "<.Address.Port>: can't evaluate field Port in type string"},
		{cluster.Program{Command: serve, Env: []string{"NAME"}}, `server.env: "NAME" is not NAME=value`},
		{cluster.Program{Command: serve, Env: []string{"NAME={{.IDs}}"}}, `server.env, NAME: no field {{.IDs}}; did you mean "ID"?`},
		{cluster.Program{Command: serve, Signal: "TREM"}, `server.stop: no signal "TREM"; did you mean "TERM"?`},
		{cluster.Program{Command: serve, Ready: cluster.Ready{Kind: "tpc"}}, `server.ready: no check "tpc"; did you mean "tcp"?`},
		{cluster.Program{Command: serve, Ready: cluster.Ready{Kind: "http", Path: "healthz"}}, `server.ready: path "healthz" does not start with "/"`},
	} {
		err := test.program.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: error %v, want %q", test.program, err, test.want)
		}
	}
}

func TestEachReplicaHasItsOwnCommandLine(t *testing.T) {
	p := cluster.Program{Command: []string{"./orders", "--listen={{.Address}}", "{{.Port}}"}, Env: []string{"HOST={{.Host}}", "NAME={{.ID}}"}}
	command, env, err := p.For(cluster.ReplicaAt("orders-1", netip.MustParseAddrPort("127.1.2.3:50051")))
	if want := []string{"./orders", "--listen=127.1.2.3:50051", "50051"}; err != nil || !slices.Equal(command, want) {
		t.Errorf("the command is %q, %v; want %q", command, err, want)
	}
	if want := []string{"HOST=127.1.2.3", "NAME=orders-1"}; !slices.Equal(env, want) {
		t.Errorf("the environment is %q, want %q", env, want)
	}
	for field, want := range map[string]bool{"Address": true, "Host": true, "Port": true, "ID": true} {
		if p.Uses(field) != want || (cluster.Program{Command: []string{"Address"}}).Uses(field) {
			t.Errorf("Uses(%s) is wrong", field)
		}
	}
}

func TestAllFieldsOfATemplateAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"{{.Address}}": true, "{{$.Address}}": true, "{{with .Address}}{{.}}{{end}}": true, "{{with .ID}}{{$.Address}}{{end}}": true,
		"{{with .ID}}{{else}}{{.Address}}{{end}}": true, "{{range .Port}}{{$.Address}}{{end}}": true, "{{if .ID}}{{.Address}}{{end}}": true,
		"{{$a := .Address}}{{$a}}": true, "{{$a := .Host}}{{$a}}": false, "{{with .ID}}{{.}}{{end}}": false,
	} {
		p := cluster.Program{Command: []string{"./orders", text}}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if p.Uses("Address") != want {
			t.Errorf("%s uses Address: %t, want %t", text, !want, want)
		}
	}
	wrong := cluster.Program{Command: []string{"./orders", "{{with .ID}}{{$.Adress}}{{end}}"}}
	if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), `no field {{.Adress}}; did you mean "Address"?`) {
		t.Errorf("error %v, want that there is no field Adress", err)
	}
}

func TestTheSignalThatStopsAProgram(t *testing.T) {
	for name, want := range map[string]syscall.Signal{"": syscall.SIGTERM, "int": syscall.SIGINT, "SIGQUIT": syscall.SIGQUIT} {
		if got := (cluster.Program{Signal: name}).StopSignal(); got != want {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
}

package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const shop = "../../internal/service/draft/testdata/shop.openapi.yaml"

func TestInitRejectsWrongFlagsAndFiles(t *testing.T) {
	for _, args := range [][]string{
		{"127.0.0.1:1", "--proto", "missing.proto"},
		{"127.0.0.1:1", "--protoset", "missing.bin"},
		{"127.0.0.1:1", "--cacert", "missing.pem"},
		{"127.0.0.1:1", "-H", "nonsense"},
		{"localhost"},
		{"localhost", "--proto", "../../api/studies/chain/chain.proto"},
		{"unix:/tmp/socket"},
		{"dns://127.0.0.1/localhost:1"},
		{"127.0.0.1:1", "--openapi", shop, "-H", "nonsense"},
	} {
		command := root()
		command.SetOut(io.Discard)
		command.SetArgs(append([]string{"init"}, args...))
		if err := command.Execute(); exitCode(err) != exitUsage {
			t.Errorf("rpclab init %q ends with exit code %d (%v), want %d", args, exitCode(err), err, exitUsage)
		}
	}
}

// A load accepts names of gRPC, and a service file accepts HOST:PORT only.
func TestInitWritesAddressesThatAServiceFileCanHave(t *testing.T) {
	var out bytes.Buffer
	command := root()
	command.SetOut(&out)
	command.SetArgs([]string{"init", "dns:///localhost:8080, dns:127.0.0.2:8080,127.0.0.3:8080", "--openapi", shop})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	var file struct{ Server struct{ Addresses []string } }
	if err := yaml.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if want := []string{"localhost:8080", "127.0.0.2:8080", "127.0.0.3:8080"}; !slices.Equal(file.Server.Addresses, want) {
		t.Errorf("the addresses are %q, want %q", file.Server.Addresses, want)
	}
}

// The file is written nevertheless: an edit may be all that it needs.
func TestInitSaysIfItsFileNeedsAnEdit(t *testing.T) {
	for want, args := range map[string][]string{
		"":                                    {"localhost:8080", "--tls"},
		"tls.servername and authority differ": {"localhost:8080", "--servername", "a", "--authority", "b"},
		"the addresses have the names a.example and b.example, and ": {"a.example:443,b.example:443", "--tls"},
	} {
		var out, said bytes.Buffer
		command := root()
		command.SetOut(&out)
		command.SetErr(&said)
		command.SetArgs(append([]string{"init", "--openapi", shop}, args...))
		if err := command.Execute(); err != nil || out.Len() == 0 || !strings.Contains(said.String(), want) || (want == "") != (said.Len() == 0) {
			t.Errorf("rpclab init %q: error %v, a file of %d bytes, and it says %q; want %q", args, err, out.Len(), &said, want)
		}
	}
}

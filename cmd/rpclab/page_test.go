package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

func TestAPageAtATakenAddressIsAnError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	for flag, f := range map[string]pageFlags{"--listen": {web: true, listen: at}, "--metrics": {metrics: at}} {
		if _, err := f.open(io.Discard, nil); err == nil || !strings.Contains(err.Error(), flag+": another program listens on "+at) {
			t.Errorf("%s: %v, want an error that says what listens on %s", flag, err, at)
		}
	}
}

// Defaults and the environment need not fit a run without a page.
func TestTheAddressAndTheTokenOfAPageNeedAPage(t *testing.T) {
	for _, test := range []struct {
		flags pageFlags
		token string
		want  string // in the error; empty: none
	}{
		{pageFlags{listen: "0.0.0.0:8421"}, "", ""},
		{pageFlags{listen: pageAddress}, "dev", ""},
		{pageFlags{listen: "0.0.0.0:8421", web: true}, "", "--listen"},
		{pageFlags{listen: pageAddress, web: true}, "dev", "--listen"},
		{pageFlags{listen: pageAddress, web: true}, "\n", "--listen"},
		{pageFlags{listen: pageAddress, web: true}, strings.Repeat("t", 15) + "\n", "--listen"},
		{pageFlags{listen: pageAddress, metrics: "127.0.0.1:1"}, "dev", "--metrics"},
	} {
		t.Setenv(tokenVariable, test.token)
		err := test.flags.check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v with the token %q: %v, want an error with %q", test.flags, test.token, err, test.want)
		}
		if _, set := os.LookupEnv(tokenVariable); set {
			t.Error("child processes inherit the token")
		}
	}
}

// Files and Secrets end with a line break, which neither a header nor the form of the login can contain.
func TestALineBreakAfterTheTokenIsNoPartOfIt(t *testing.T) {
	want := strings.Repeat("t", 16)
	t.Setenv(tokenVariable, want+"\n")
	f := pageFlags{listen: "0.0.0.0:8421", web: true}
	if err := f.check(); err != nil || f.token != want {
		t.Errorf("the token is %q (error %v), want %q", f.token, err, want)
	}
}

package main

import (
	"io"
	"net"
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

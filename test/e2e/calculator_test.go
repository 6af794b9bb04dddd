package e2e

import (
	"strings"
	"testing"
)

// Every answer of every arm comes, and is the right one, by whom it should be: the caller
// counts any other as an error.
func TestStreamsAnswerEveryCalculation(t *testing.T) {
	t.Parallel()
	d, s := quick(t, "streams")
	s.promptly(t)
	published := 0
	for _, a := range d.Arms {
		var answered uint64
		for _, n := range a.Backends {
			answered += n
		}
		if a.Calls == 0 || answered != a.Calls || len(a.Errors) > 0 || a.Dropped > 0 {
			t.Errorf("%s: %d of %d calculations are answered, %d were dropped, errors %v", a.Name, answered, a.Calls, a.Dropped, a.Samples)
		}
		if a.Published {
			published++
		}
	}
	if published != 7 || len(d.Accounts) != 3 {
		t.Errorf("%d published arms and %d confounds", published, len(d.Accounts))
	}
	// Calls spread where the client knows every backend; a stream, and one connection, stay.
	for _, name := range []string{"unary-spread", "unary-headless", "unary-xds"} {
		if spread := arm(t, d, name); spread.Balance.Jain < 0.9 {
			t.Errorf("%s over three backends: %v", name, spread.Backends)
		}
	}
	for _, name := range []string{"unary-clusterip", "bidi-pinned", "bidi-clusterip", "bidi-headless", "bidi-xds"} {
		if pinned := arm(t, d, name); pinned.Balance.Jain > 0.34 {
			t.Errorf("%s over three backends: %v", name, pinned.Backends)
		}
	}
}

// What a run leaves is its result and the store; keys are in neither, nor in a file beside.
func TestARunLeavesNoPrivateKey(t *testing.T) {
	t.Parallel()
	d, s := quick(t, "security")
	for path, text := range s.files {
		if strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s holds a key", path)
		}
	}
	if len(s.files) < 3 {
		t.Errorf("only %d files were looked at", len(s.files))
	}
	for _, row := range []string{"What security costs a call", "| unary-mtls | mutual TLS |", "| unary-signed | signing |", "| unary-jwt-every | a token made for each call |"} {
		if !strings.Contains(s.markdown, row) {
			t.Errorf("the report does not say %q:\n%s", row, s.markdown)
		}
	}
	if arm(t, d, "unary-signed").Resources.Server.CPU < 2*arm(t, d, "unary-bare").Resources.Server.CPU {
		t.Errorf("signing every message costs nothing: %v", arm(t, d, "unary-signed").Resources)
	}
}

package e2e

import (
	"strings"
	"testing"
)

// The caller counts a missing or wrong answer, or an answer of a wrong backend, as an error.
func TestStreamsAnswerEveryCalculation(t *testing.T) {
	t.Parallel()
	quickly(t, "streams")
	d, _ := quick(t, "streams")
	published := 0
	for _, a := range d.Arms {
		var answered uint64
		for _, n := range a.Backends {
			answered += n
		}
		if a.Calls == 0 || answered != a.Calls || len(a.Errors) > 0 || a.Dropped > 0 {
			t.Errorf("%s: %d of %d calculations were answered, %d dropped, errors %v", a.Name, answered, a.Calls, a.Dropped, a.Samples)
		}
		if a.Published {
			published++
		}
	}
	if published != 7 || len(d.Accounts) != 3 {
		t.Errorf("%d published arms and %d confounds, want 7 and 3", published, len(d.Accounts))
	}
	// Calls reach every backend that the client knows. A stream and a single connection stay on one.
	for _, name := range []string{"unary-spread", "unary-headless", "unary-xds"} {
		if spread := arm(t, d, name); spread.Balance.Jain < 0.9 {
			t.Errorf("%s: calls by backend are %v, want about equal shares", name, spread.Backends)
		}
	}
	for _, name := range []string{"unary-clusterip", "bidi-pinned", "bidi-clusterip", "bidi-headless", "bidi-xds"} {
		if pinned := arm(t, d, name); pinned.Balance.Jain > 0.34 {
			t.Errorf("%s: calls by backend are %v, want all on one", name, pinned.Backends)
		}
	}
}

// TestARunLeavesNoPrivateKey searches the result, the store and temporary files.
func TestARunLeavesNoPrivateKey(t *testing.T) {
	t.Parallel()
	d, s := quick(t, "security")
	for path, text := range s.files {
		if strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s contains a private key", path)
		}
	}
	if len(s.files) < 3 {
		t.Errorf("the run left %d files, want at least 3", len(s.files))
	}
	for _, row := range []string{"What security costs a call", "| unary-mtls | mutual TLS |", "| unary-signed | signing |", "| unary-jwt-every | a token made for each call |"} {
		if !strings.Contains(s.markdown, row) {
			t.Errorf("the report does not say %q:\n%s", row, s.markdown)
		}
	}
	if arm(t, d, "unary-signed").Resources.Server.CPU < 2*arm(t, d, "unary-bare").Resources.Server.CPU {
		t.Errorf("signing does not double the CPU time of the server: %v", arm(t, d, "unary-signed").Resources)
	}
}

package security

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A window must accept the same numbers as a set that stores every number, except those too far
// below the highest.
func TestAWindowAcceptsEachNumberOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		seen, highest := map[uint64]bool{}, uint64(0)
		number := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "messages") {
			step := rapid.SampledFrom([]int64{1, 1, 1, 2, -1, -3, 70, -70, 5000, -5000, 9000, -9000}).Draw(t, "step")
			number = uint64(max(0, int64(number)+step))
			tooOld := len(seen) > 0 && number+WindowSize < highest+1
			if want := !seen[number] && !tooOld; w.Accept(number) != want {
				t.Fatalf("message %d after %d: accepted %v, want %v", number, highest, !want, want)
			}
			if !tooOld {
				seen[number] = true
				highest = max(highest, number)
			}
		}
	})
}

func TestMissingKeysAndUnknownTransportsAreErrors(t *testing.T) {
	if _, err := NewGuard(Config{Policy: Policy{Tokens: true}}); err == nil {
		t.Error("NewGuard accepted a policy with tokens without keys, want an error")
	}
	if _, err := (Config{Policy: Policy{Transport: "ssl"}}).ClientTLS(); err == nil {
		t.Error("ClientTLS accepted the transport ssl, want an error")
	}
}

func TestAClientAcceptsOnlyMessagesThatTheServerSigned(t *testing.T) {
	authority, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Client("client", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := client.NewVerifier()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keys Keys
		ok   bool
	}{{server, true}, {client, false}} {
		signer, err := c.keys.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		message, err := signer.Sign([]byte("42"))
		if err != nil {
			t.Fatal(err)
		}
		content, by, err := verifier.Verify(message)
		if (err == nil) != c.ok || c.ok && (string(content) != "42" || by != ServerName) {
			t.Errorf("a message signed by %s: content %q, signer %q, error %v; want it accepted: %v", c.keys.Name, content, by, err, c.ok)
		}
	}
}

package security

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A window takes what a set that remembers everything takes, unless it is too far behind.
func TestAWindowAcceptsEachNumberOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		seen, highest := map[uint64]bool{}, uint64(0)
		at := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "messages") {
			step := rapid.SampledFrom([]int64{1, 1, 1, 2, -1, -3, 70, -70, 5000, -5000, 9000, -9000}).Draw(t, "step")
			at = uint64(max(0, int64(at)+step))
			behind := len(seen) > 0 && at+WindowSize < highest+1
			if want := !seen[at] && !behind; w.Take(at) != want {
				t.Fatalf("%d after %d: accepted %v, want %v", at, highest, !want, want)
			}
			if !behind {
				seen[at] = true
				highest = max(highest, at)
			}
		}
	})
}

func TestMissingKeysAreNamed(t *testing.T) {
	if _, err := NewGuard(Config{Policy: Policy{Tokens: true}}); err == nil {
		t.Error("a server without keys guards")
	}
	if _, err := (Config{Policy: Policy{Transport: "ssl"}}).ClientTLS(); err == nil {
		t.Error("there is a transport ssl")
	}
}

func TestAClientReadsWhatAServerSigned(t *testing.T) {
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	server, err := a.Server()
	if err != nil {
		t.Fatal(err)
	}
	client, err := a.Client("me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.NewVerifier()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keys Keys
		ok   bool
	}{{server, true}, {client, false}} { // a client is no server
		signer, err := c.keys.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		message, err := signer.Sign([]byte("42"))
		if err != nil {
			t.Fatal(err)
		}
		content, by, err := reader.Verify(message)
		if (err == nil) != c.ok || c.ok && (string(content) != "42" || by != ServerName) {
			t.Errorf("signed by %s: %q, %q, %v", c.keys.Name, content, by, err)
		}
	}
}

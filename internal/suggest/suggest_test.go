package suggest_test

import (
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/suggest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheNameThatWasMeant(t *testing.T) {
	names := []string{"replicas", "burst", "direct", "route"}
	for word, want := range map[string]string{
		"replcas": "replicas", "REPLICAS": "replicas", "brust": "burst", "rout": "route", "direkt": "direct",
		"zzz": "", "": "", "r": "", "rep": "", "sequence": "",
	} {
		if got := suggest.Nearest(word, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
}

package nearest_test

import (
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/nearest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheNameThatWasMeant(t *testing.T) {
	names := []string{"replicas", "burst", "direct", "route"}
	for word, want := range map[string]string{
		"replcas": "replicas", "REPLICAS": "replicas", "brust": "burst", "rout": "route", "direkt": "direct",
		"zzz": "", "": "", "r": "", "rep": "", "sequence": "",
	} {
		if got := nearest.Name(word, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
}

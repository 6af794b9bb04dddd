package suggest_test

import (
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/suggest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var names = []string{"replicas", "burst", "direct", "route"}

func TestSimilarReturnsTheMostSimilarName(t *testing.T) {
	for word, want := range map[string]string{
		"replcas": "replicas", "REPLICAS": "replicas", "brust": "burst", "rout": "route", "direkt": "direct",
		"zzz": "", "": "", "r": "", "rep": "", "sequence": "",
	} {
		if got := suggest.Similar(word, names); got != want {
			t.Errorf("Similar(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestAMisspeltNameDiffersByOneEdit(t *testing.T) {
	for word, want := range map[string]string{"replcas": "replicas", "BURST": "burst", "brust": "burst", "rplcas": "", "direkte": "", "": ""} {
		if got := suggest.Misspelt(word, names); got != want {
			t.Errorf("Misspelt(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{
		"rout": `; did you mean "route"?`, "sequence": "; known names: replicas, burst, direct, route",
	} {
		if got := suggest.DidYouMean(word, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
	if got := suggest.DidYouMean("rout", nil); got != "" {
		t.Errorf("without known names: %q, want an empty string", got)
	}
}

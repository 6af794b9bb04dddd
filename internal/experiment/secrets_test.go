package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResultsHaveNoSecrets: the text of an experiment is in every result of it.
func TestResultsHaveNoSecrets(t *testing.T) {
	doc := `experiment: versions # a comment
question: Is version 2 slower?
services:
  old:
    server: {command: [./old, "{{.Address}}"]}
    metadata: {authorization: Bearer hunter2, x-tag: [hunter3, "{{uuid}}"]}
    tls: {cacert: ca.pem, cert: hunter4.pem, key: hunter5.pem}
    calls: {get: {method: a.B/C, metadata: {x: hunter6}}}
  new: {server: {command: [./new, "{{.Address}}"]}, calls: {get: {method: a.B/C, metadata: {y: hunter7}}}}
defaults: {route: clusterip, workload: {call: get}, load: {burst: 5}}
arms: {old: {service: old}, new: {service: new}}
`
	p, err := Expand("v.yaml", []byte(doc), Options{Rounds: 1}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.Text, "hunter") || strings.Count(p.Text, notShown) < 5 || !strings.Contains(p.Text, "# a comment") || !strings.Contains(p.Text, "ca.pem") {
		t.Errorf("the text is\n%s\nwant it without hunter", p.Text)
	}
	if _, err := Expand("v.yaml", []byte(p.Text), Options{Rounds: 1}, vocabulary); err != nil {
		t.Errorf("the text cannot be read again: %v\n%s", err, p.Text)
	}
	if diff := cmp.Diff(Metadata{"authorization": {"Bearer hunter2"}, "x-tag": {"hunter3", "{{uuid}}"}}, p.Services[0].Metadata); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestATextWithoutSecretsIsUnchanged(t *testing.T) {
	const doc = "experiment:   x\ndefaults: {caller: {metadata: 3}}\n"
	if got := withoutSecrets([]byte(doc)); got != doc {
		t.Errorf("the text is %q", got)
	}
}

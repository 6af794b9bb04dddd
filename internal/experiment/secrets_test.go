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
  new: {server: {image: new, files: {/etc/tls/tls.key: hunter8}}, calls: {get: {method: a.B/C, metadata: {y: hunter7}}}}
defaults: {route: direct, workload: {call: get}, load: {burst: 5}}
arms: {old: {service: old}, new: {service: new}, own: {service: old, caller: {command: [./client]}}}
quick: {arms.own.caller.env: {TOKEN: hunter9}}
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

// TestSettingsHaveNoSecrets: results contain the settings, and the command line with them.
func TestSettingsHaveNoSecrets(t *testing.T) {
	const doc = `experiment: x
question: q?
services: {old: {server: {command: [./old]}, calls: {get: {method: a.B/C}}}}
defaults: {service: old, route: direct, workload: {call: get}, load: {burst: 5}, server: {replicas: 1}}
arms: {one: {}, own: {caller: {command: [./client]}}}
`
	o := Options{Rounds: 1, Set: []string{
		`services={old: {server: {command: [./old], env: {TOKEN: hunter1}}, metadata: {authorization: Bearer hunter2}, tls: {cacert: ca.pem, cert: hunter3, key: hunter4}, calls: {get: {method: a.B/C}}}}`,
		`arms.own.caller={command: [./client], env: {TOKEN: hunter5}}`, `arms.own.caller.env={TOKEN: hunter6}`, `load.burst=7`,
	}}
	p, err := Expand("x.yaml", []byte(doc), o, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`services={old: {server: {command: [./old], env: {TOKEN: (not shown)}}, metadata: {authorization: (not shown)}, tls: {cacert: ca.pem, cert: (not shown), key: (not shown)}, calls: {get: {method: a.B/C}}}}`,
		`arms.own.caller={command: [./client], env: {TOKEN: (not shown)}}`, `arms.own.caller.env={TOKEN: (not shown)}`, `load.burst=7`,
	}
	if diff := cmp.Diff(want, p.Changed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if command := o.Command("x.yaml"); strings.Contains(command, "hunter") || !strings.Contains(command, "ca.pem") {
		t.Errorf("the command line is %s", command)
	}
	if p.Services[0].Metadata["authorization"][0] != "Bearer hunter2" {
		t.Errorf("the metadata is %v, want that of --set", p.Services[0].Metadata)
	}
}

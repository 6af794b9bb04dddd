package main

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// The name of an experiment may be that of the loads of `rpclab load`.
func TestAnExperimentWithTheNameOfALoadHasAReport(t *testing.T) {
	var out strings.Builder
	d := result.Document{Experiment: "load", Question: "Which?", Arms: []result.Arm{{Name: "one"}, {Name: "two"}}}
	if err := (outputs{}).renderReport(&out, d); err != nil || !strings.Contains(out.String(), "Which?") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestTheShortRunOfAPlanKeepsTheSettings(t *testing.T) {
	doc := "experiment: x\nquestion: q?\nservices: {shop: {server: {service: shop/orders}, calls: {get: {method: a.B/C}}}}\n" +
		"defaults: {service: shop, workload: {call: get}, load: {open: {rate: 5, duration: 9s}}, route: headless}\narms: {a: {}, b: {route: clusterip}}\nevents: [{at: 1s, kill: 1}]\n"
	o, err := shortRun("x.yaml", []byte(doc), experiment.Options{AllowDisruption: true, On: "kubernetes", Set: []string{"load.open.rate=7"}, UntilDecided: true})
	if err != nil || !o.Quick || o.UntilDecided || !strings.Contains(o.Command("x"), "load.open.rate=7") {
		t.Errorf("%+v, %v; want a quick run with the setting", o, err)
	}
}

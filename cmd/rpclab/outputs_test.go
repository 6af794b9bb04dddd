package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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

// Cells are found by their names, so the document, its assertions and its gates lose paths together.
func TestJUnitHasTheChecksOfCellsWithoutTheirPaths(t *testing.T) {
	d := result.Document{Experiment: "mine"}
	var gates result.Gates
	for _, dir := range []string{"/home/alice/v1/bin", "/home/alice/v2/bin"} {
		cell := result.Cell{"caller.dir": dir}
		d.Arms = append(d.Arms, result.Arm{Name: "one", Cell: cell})
		d.Assertions = append(d.Assertions, result.Assertion{Assertion: "p99 < 1ms", Arm: "one", Cell: cell, Failures: []string{"p99 is 2 ms"}})
		gates.Results = append(gates.Results, result.GateResult{Gate: "p50 ratio < 1.1", Arm: "one", Cell: cell, Outcome: "held"})
	}
	d.Gates = &gates
	dir := t.TempDir()
	o := outputs{junit: filepath.Join(dir, "out.xml"), md: filepath.Join(dir, "out.md")}
	c := &cobra.Command{}
	c.SetOut(io.Discard)
	if err := o.write(c, d); err != nil {
		t.Fatal(err)
	}
	junit, errJUnit := os.ReadFile(o.junit)
	md, errMD := os.ReadFile(o.md)
	if err := errors.Join(errJUnit, errMD); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(junit), `tests="2" failures="1"`); n != 2 || strings.Contains(string(junit), "alice") {
		t.Errorf("%d suites have a failed assertion and a gate, want 2 without the name of the user:\n%s", n, junit)
	}
	if strings.Contains(string(md), "alice") || !strings.Contains(string(md), "…/bin (2)") {
		t.Errorf("want both cells without the name of the user:\n%s", md)
	}
}

func TestTheShortRunOfAPlanKeepsTheSettings(t *testing.T) {
	doc := "experiment: x\nquestion: q?\nservices: {shop: {server: {service: shop/orders}, calls: {get: {method: a.B/C}}}}\n" +
		"defaults: {service: shop, workload: {call: get}, load: {open: {rate: 5, duration: 9s}}, route: headless}\narms: {a: {}, b: {route: clusterip}}\nevents: [{at: 1s, kill: 1}]\n"
	command, err := shortRun("x.yaml", []byte(doc), experiment.Options{AllowDisruption: true, On: "kubernetes", Set: []string{"load.open.rate=70"}, UntilDecided: true}, "x", "")
	if err != nil || !strings.Contains(command, "--quick") || strings.Contains(command, "--until-decided") || !strings.Contains(command, "load.open.rate=70") {
		t.Errorf("%s, %v; want a quick run with the setting", command, err)
	}
}

func TestTwoOutputsNeedTwoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o := outputs{json: path, csv: filepath.Dir(path) + "/./out"}
	if err := o.check(); err == nil || !strings.HasSuffix(err.Error(), "out: name a file for each") {
		t.Errorf("JSON and CSV in one file: %v", err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/web"
)

// writeExperiment writes an experiment and returns the name of its file.
func writeExperiment(t *testing.T, file, name string) string {
	t.Helper()
	file = filepath.Join(t.TempDir(), file)
	text := "experiment: " + name + "\nquestion: Which arm is faster?\ndefaults: {workload: {greet: {}}, route: direct}\narms: {a: {load: {burst: 100}}, b: {load: {burst: 200}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Runs are stored under the name in the experiment, so the page would not find those of another name.
func TestThePageOffersAnExperimentUnderTheNameOfItsRuns(t *testing.T) {
	file := writeExperiment(t, "file.yaml", "mine")
	all, err := serveFlags{files: []string{file}}.experiments()
	if err != nil {
		t.Fatal(err)
	}
	if last := all[len(all)-1]; last.Name != "mine" || last.RunName != file {
		t.Errorf("the page offers %q of %s, want mine of %s", last.Name, last.RunName, file)
	}
	if _, err := web.New(web.Options{Experiments: all}); err != nil {
		t.Error(err)
	}
}

func TestThePageRefusesTwoExperimentsWithOneName(t *testing.T) {
	for name, first := range map[string]string{"channels": "a built-in experiment", "load": "a load on a service", "mine": "one.yaml"} {
		var files []string
		if name == "mine" {
			files = append(files, writeExperiment(t, "one.yaml", name))
		}
		files = append(files, writeExperiment(t, "two.yaml", name))
		_, err := serveFlags{files: files}.experiments()
		want := "the page cannot tell its runs from those of "
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "change the field experiment") {
			t.Errorf("%s: the error is %v, want that %s%s", name, err, want, first)
		}
	}
}

func TestThePageRefusesAFileThatIsNoExperiment(t *testing.T) {
	file := writeExperiment(t, "mine.yaml", "no valid name")
	_, err := serveFlags{files: []string{file}}.experiments()
	if err == nil || !strings.HasPrefix(err.Error(), "--experiment: "+file+":1:13: ") {
		t.Errorf("the error is %v, want one at %s:1:13", err, file)
	}
}

package experiments

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var vocabulary = lab.Vocabulary()

func expand(t *testing.T, name string, o experiment.Options) experiment.Plan {
	t.Helper()
	file, doc, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := experiment.Expand(file, doc, o, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBuiltInExperiments requires that each experiment has the name of its file, describes every arm,
// expands with and without --quick, and is valid by the schema.
func TestBuiltInExperiments(t *testing.T) {
	schema := compiled(t)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			p := expand(t, name, experiment.Options{})
			if p.Name != name {
				t.Errorf("the experiment has the name %s, want that of its file", p.Name)
			}
			for _, arm := range p.Arms {
				if arm.Describe == "" {
					t.Errorf("arm %s has no description", arm.Name)
				}
			}
			var load time.Duration
			for _, trial := range expand(t, name, experiment.Options{Quick: true}).Trials {
				if open := trial.Config.Load.Open; open != nil {
					load += open.Duration
				}
			}
			if load > 25*time.Second {
				t.Errorf("the loads of --quick take %s, want at most 25s", load)
			}
			_, doc, _ := Open(name)
			if err := schema.Validate(asJSON(t, doc)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The channels study published three arms at four sizes.
func TestChannelsHasEveryPublishedFigure(t *testing.T) {
	p := expand(t, "channels", experiment.Options{})
	published := map[string]bool{}
	for _, arm := range p.Arms {
		if arm.Published != "" {
			published[arm.Name] = true
		}
	}
	figures := 0
	for arm := range published {
		for _, cell := range p.Cells {
			for _, f := range p.Published {
				if f.Arm == arm && f.Cell["load.burst"] == cell["load.burst"] {
					figures++
				}
			}
		}
	}
	if figures != 12 || len(p.Published) != 12 {
		t.Errorf("%d of %d figures belong to a cell of a published arm, want 12 of 12", figures, len(p.Published))
	}
}

// grpc-go's dns resolver waits 30 s between two resolutions, and the next event must come later.
func TestChurnOutlastsTheDNSInterval(t *testing.T) {
	p := expand(t, "churn", experiment.Options{})
	events := p.Trials[0].Events
	if next := events[2].At; next < 30*time.Second+5*time.Second {
		t.Errorf("the event after the kill is at %s, want 35s or later", next)
	}
}

func TestOpenSuggestsASimilarName(t *testing.T) {
	_, _, err := Open("chanels")
	if err == nil || !strings.Contains(err.Error(), `no built-in experiment "chanels"; did you mean "channels"?`) {
		t.Errorf("error %v, want a suggestion of channels", err)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := experiment.Schema(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("experiment.schema.json")
}

func asJSON(t *testing.T, doc []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

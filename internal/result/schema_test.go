package result

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rpclab/internal/testkit"
)

var schemaFile = filepath.Join("..", "..", "api", "result.schema.json")

var comparisonSchemaFile = filepath.Join("..", "..", "api", "comparison.schema.json")

func TestSchemaFilesMatchTheTypes(t *testing.T) {
	schema, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	testkit.GoldenFile(t, schemaFile, string(schema))
	if schema, err = ComparisonJSONSchema(); err != nil {
		t.Fatal(err)
	}
	testkit.GoldenFile(t, comparisonSchemaFile, string(schema))
}

func TestSchemaOfComparisons(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(comparisonSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	full := Comparison{
		Schema:      ComparisonSchema,
		Differences: []Difference{{Kind: "machine", What: "CPUs", A: "2", B: "4"}},
		Refused:     []Refusal{{Arm: "pool", Reason: "only in A"}},
		Ratios:      []Ratio{{Metric: "latency_p50", Arm: "shared", Cell: Cell{"load.burst": 300}, Decision: "worse"}},
		Gates:       []GateResult{{Gate: "p99 ratio < 1.05", Arm: "shared", Outcome: "held"}},
	}
	wrong := full
	wrong.Gates = []GateResult{{Outcome: "perhaps"}}
	for name, c := range map[string]struct {
		c  Comparison
		ok bool
	}{"full": {full, true}, "empty": {Comparison{Schema: ComparisonSchema}, true}, "no such outcome": {wrong, false}} {
		var text bytes.Buffer
		if err := WriteComparison(&text, c.c); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(&text)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != c.ok {
			t.Errorf("%s: valid %v, want %v: %v", name, err == nil, c.ok, err)
		}
	}
}

func TestSchemaOfResults(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(d Document, change func(map[string]any)) error {
		var text bytes.Buffer
		if err := Write(&text, d); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(&text)
		if err != nil {
			t.Fatal(err)
		}
		change(value.(map[string]any))
		return schema.Validate(value)
	}
	for name, d := range map[string]Document{"full": sampleDocument(t), "empty": {Schema: Schema, Cluster: "local"}} {
		if err := validate(d, func(map[string]any) {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(map[string]any){
		"no seed":         func(d map[string]any) { delete(d, "seed") },
		"null warnings":   func(d map[string]any) { d["warnings"] = nil },
		"rounds as text":  func(d map[string]any) { d["rounds"] = "5" },
		"another schema":  func(d map[string]any) { d["schema"] = "rpclab.result/v2" },
		"unknown cluster": func(d map[string]any) { d["cluster"] = "moon" },
		"unknown cause": func(d map[string]any) {
			d["verdicts"].([]any)[0].(map[string]any)["cause"].(map[string]any)["kind"] = "luck"
		},
		"unknown decision":  func(d map[string]any) { d["verdicts"].([]any)[0].(map[string]any)["decision"] = "good" },
		"interval of three": func(d map[string]any) { d["verdicts"].([]any)[0].(map[string]any)["ci"] = []any{1, 2, 3} },
		"arm without hdr": func(d map[string]any) {
			delete(d["arms"].([]any)[0].(map[string]any)["latency_ms"].(map[string]any), "hdr")
		},
	} {
		if err := validate(sampleDocument(t), spoil); err == nil {
			t.Errorf("%s: the schema accepts an invalid document", name)
		}
	}
}

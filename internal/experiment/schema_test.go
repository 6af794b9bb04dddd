package experiment

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(vocabulary)
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
	s, err := c.Compile("experiment.schema.json")
	if err != nil {
		t.Fatalf("the schema does not compile: %v", err)
	}
	return s
}

// asJSON converts a YAML document for a JSON validator.
func asJSON(t testing.TB, doc string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
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

func TestSchemaAndDecoderAcceptTheSameDocuments(t *testing.T) {
	schema := compiled(t)
	edit := func(old, replacement string) string {
		doc := strings.Replace(head, old, replacement, 1)
		if doc == head {
			t.Fatalf("head does not contain %q", old)
		}
		return doc
	}
	for name, tc := range map[string]struct {
		doc  string
		good bool
	}{
		"the head":               {head, true},
		"an arm with nothing":    {edit("a: {}", "a: "), true},
		"a pool":                 {edit("a: {}", "a: {caller: {channel: {pool: 4}}}"), true},
		"per-call":               {edit("a: {}", "a: {caller: {channel: per-call}}"), true},
		"a part of a load":       {edit("burst: 5}", "open: {rate: 5, duration: 1s}}, server: {drain: 0}") + "sweep: {load.open.rate: [1, 2.5]}\n", true},
		"whole float":            {edit("rounds: 2", "rounds: 2.0"), true},
		"durations":              {edit("1ms", "1m"), true},
		"composed duration":      {edit("1ms", "1s500ms"), true},
		"fraction":               {edit("1ms", "1.5s"), true},
		"events":                 {withHead("events: [{at: 0, scale: 2}, {at: 1s, resume: true}, {at: 1s, slow: {backends: 1, by: 5ms}}]"), true},
		"settings":               {withHead("quick: {rounds: 1, load.burst: 3, sweep.server.replicas: [1], arms.a.route: direct, defaults.route: direct, events: []}"), true},
		"sweep of records":       {withHead("sweep: {load: [{burst: 1}, {sequence: 1}], caller.channel: [shared, {pool: 2}]}"), true},
		"figures":                {withHead("sweep: {load.burst: [5]}", "published: [{arm: a, cell: {load.burst: 5}, elapsed_ms: 1.5}]"), true},
		"a search":               {edit("burst: 5", "search: {slo: p99 < 5ms, from: 1, to: 9, duration: 1s, precision: 2.5 %}"), true},
		"precision, no unit":     {edit("burst: 5", "search: {slo: p99 < 5ms, from: 1, to: 9, duration: 1s, precision: 2}"), false},
		"unknown field":          {withHead("basline: a"), false},
		"unknown in server":      {edit("a: {}", "a: {server: {replcas: 3}}"), false},
		"unknown in an arm":      {edit("a: {}", "a: {rout: direct}"), false},
		"rounds 0":               {edit("rounds: 2", "rounds: 0"), false},
		"rounds as text":         {edit("rounds: 2", "rounds: '2'"), false},
		"rounds 1.5":             {edit("rounds: 2", "rounds: 1.5"), false},
		"no question":            {edit("question: Which?\n", ""), false},
		"an empty question":      {edit("question: Which?", "question: ''"), false},
		"no arms":                {edit("{a: {}, b: {route: headless}}", "{}"), false},
		"arms as a list":         {edit("{a: {}, b: {route: headless}}", "[a]"), false},
		"name of an arm":         {edit("a: {}", "a_b: {}"), false},
		"name":                   {edit("experiment: x", "experiment: x y"), false},
		"no unit":                {edit("1ms", "500"), false},
		"wrong unit":             {edit("1ms", "5 sec"), false},
		"negative duration":      {edit("1ms", "-1s"), false},
		"unknown route":          {edit("route: headless", "route: pigeon"), false},
		"unknown arrivals":       {edit("burst: 5", "open: {rate: 1, duration: 1s, arrivals: poison}"), false},
		"unknown channel":        {edit("a: {}", "a: {caller: {channel: sharde}}"), false},
		"empty pool":             {edit("a: {}", "a: {caller: {channel: {}}}"), false},
		"pool of none":           {edit("a: {}", "a: {caller: {channel: {pool: 0}}}"), false},
		"two loads":              {edit("burst: 5", "burst: 5, sequence: 6"), false},
		"bool as text":           {edit("a: {}", "a: {server: {fresh: 'true'}}"), false},
		"event without time":     {withHead("events: [{kill: 1}]"), false},
		"event without action":   {withHead("events: [{at: 1s}]"), false},
		"event with two":         {withHead("events: [{at: 1s, kill: 1, scale: 2}]"), false},
		"resume: false":          {withHead("events: [{at: 1s, resume: false}]"), false},
		"slow without backends":  {withHead("events: [{at: 1s, slow: {by: 1s}}]"), false},
		"sweep of an unknown":    {withHead("sweep: {load.brust: [1]}"), false},
		"sweep of a bad value":   {withHead("sweep: {load.burst: [0]}"), false},
		"sweep of one value":     {withHead("sweep: {load.burst: 3}"), false},
		"sweep of nothing":       {withHead("sweep: {load.burst: []}"), false},
		"sweep twice":            {withHead("sweep: {load.burst: [3, 3]}"), false},
		"setting of an unknown":  {withHead("quick: {load.brust: 3}"), false},
		"setting of a bad value": {withHead("quick: {rounds: 0}"), false},
		"setting of quick":       {withHead("quick: {quick: {}}"), false},
		"confound lacks what":    {withHead("confounds: [{published: a, controlled: b}]"), false},
	} {
		t.Run(name, func(t *testing.T) {
			bySchema := schema.Validate(asJSON(t, tc.doc))
			_, byDecoder := Read("x.yaml", []byte(tc.doc), vocabulary)
			if good := bySchema == nil; good != tc.good {
				t.Errorf("schema: %v", bySchema)
			}
			if good := byDecoder == nil; good != tc.good {
				t.Errorf("decoder: %v", byDecoder)
			}
		})
	}
}

func TestSchemaIsDeterministic(t *testing.T) {
	first, err := Schema(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := Schema(vocabulary)
	if !bytes.Equal(first, second) {
		t.Error("two schemas differ")
	}
}

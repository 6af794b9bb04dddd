package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadReturnsTheWrittenDocument(t *testing.T) {
	want := sampleDocument(t)
	var first, second bytes.Buffer
	if err := Write(&first, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&second, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Arms[0].Trials, got.Arms[0].Trials); diff != "" {
		t.Error(diff)
	}
	if want, got := want.Arms[0].Cell.Key(), got.Arms[0].Cell.Key(); want != got {
		t.Errorf("the cell's key is %s after reading, %s before", got, want)
	}
}

func TestWriteOmitsNull(t *testing.T) {
	d := Document{Schema: Schema, Arms: []Arm{{Trials: []Trial{{Timeline: &Timeline{}, Groups: [][]uint64{nil}}}}},
		Verdicts: []Verdict{{}}, Events: []Event{}, Published: []Published{{}}}
	var text bytes.Buffer
	if err := Write(&text, d); err != nil {
		t.Fatal(err)
	}
	known := strings.NewReplacer(`"client": null`, "", `"server": null`, "", `"balance": null`, "").Replace(text.String())
	if strings.Contains(known, "null") {
		t.Errorf("null in\n%s", text.String())
	}
	for _, field := range []string{`"warnings": []`, `"errors": {}`, `"backends": {}`, `"config": {}`, `"cell": {}`, `"ready": []`} {
		if !strings.Contains(text.String(), field) {
			t.Errorf("no %s in\n%s", field, text.String())
		}
	}
	if d.Arms[0].Errors != nil || d.Arms[0].Trials[0].Timeline.Ready != nil || d.Arms[0].Trials[0].Groups[0] != nil {
		t.Error("Write changed its argument")
	}
}

func TestReadRejectsOtherDocuments(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"another schema": {`{"schema": "rpclab.result/v2"}`, `the schema is rpclab.result/v2`},
		"no schema":      {`{}`, `the schema is ""`},
		"no JSON":        {`<html>`, "not a JSON document"},
		"a wrong type":   {`{"schema": "rpclab.result/v1", "rounds": "five"}`, "rounds"},
	} {
		_, err := Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.says)
		}
	}
}

func TestWriteRejectsInvalidDocuments(t *testing.T) {
	if err := Write(&bytes.Buffer{}, Document{}); !errors.Is(err, ErrSchema) {
		t.Errorf("without a schema: error %v, want ErrSchema", err)
	}
	if err := Write(&bytes.Buffer{}, Document{Schema: Schema, Arms: []Arm{{Measures: Measures{Rate: math.NaN()}}}}); err == nil {
		t.Error("Write accepted a rate of NaN")
	}
}

// The usage of a server that rpclab did not start is not known, and reads back as zero.
func TestAnUnknownServerUsageIsNull(t *testing.T) {
	for want, usage := range map[string]Resources{
		`"server":null`: {Client: Usage{CPU: 5}},
		`"server":{"cpu_us_per_call":7,"rss_max_bytes":0}`: {Client: Usage{CPU: 5}, Server: Usage{CPU: 7}},
	} {
		text, err := json.Marshal(usage)
		if err != nil || strings.Count(string(text), `"server":`) != 1 || !strings.Contains(string(text), want) || !strings.Contains(string(text), `"cpu_us_per_call":5`) {
			t.Errorf("%+v is %s, %v; want %s", usage, text, err, want)
		}
		var read Resources
		if err := json.Unmarshal(text, &read); err != nil || read != usage {
			t.Errorf("%s reads back as %+v, %v", text, read, err)
		}
	}
}

func TestAnUnknownServerUsageOfABlockIsNull(t *testing.T) {
	for want, cpu := range map[string]*float64{`"server_cpu_us_per_call":null`: nil, `"server_cpu_us_per_call":0`: new(float64)} {
		if text, err := json.Marshal(Block{ServerCPU: cpu}); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
}

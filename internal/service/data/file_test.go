package data_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/descriptorpb"

	"rpclab/internal/service/data"
)

func TestRowsOfCSVAreMessages(t *testing.T) {
	of := new(descriptorpb.FieldDescriptorProto).ProtoReflect().Descriptor()
	const rows = "name,number,options.packed,type_name\na,7,true,\"x, \"\"y\"\"\"\n{{uuid}},,,007\n"
	const want = `{"name":"a","number":"7","options":{"packed":true},"type_name":"x, \"y\""}` + "\n" +
		`{"name":"{{uuid}}","type_name":"007"}` + "\n"
	got, err := data.FromCSV([]byte("\xef\xbb\xbf"+rows), of)
	if err != nil || string(got) != want {
		t.Errorf("the messages are %s, %v; want %s", got, err, want)
	}
	if all, err := data.JSON("rows.csv", got, of); err != nil || all.Len() != 2 {
		t.Errorf("the rows are not messages: %v", err)
	}
}

func TestCellsWithoutATypeAreNumbersConditionsOrTexts(t *testing.T) {
	const want = `{"id":7,"item":{"sold":true,"text":"null"},"name":"{{printf "%03d" .Number}}"}` + "\n"
	got, err := data.FromCSV([]byte("id,item.sold,item.text,name\n7,true,null,\"{{printf \"\"%03d\"\" .Number}}\"\n"), nil)
	if err != nil || string(got) != want {
		t.Errorf("the bodies are %s, %v; want %s", got, err, want)
	}
}

func TestErrorsOfCSV(t *testing.T) {
	of := new(grpc_health_v1.HealthCheckRequest).ProtoReflect().Descriptor()
	for text, want := range map[string]string{
		"service\n":         "there is no row below the header, which names the fields",
		"servce\nx\n":       `the header names "servce", which is not a field of grpc.health.v1.HealthCheckRequest`,
		"service.name\nx\n": `the header names service.name, but "service" of grpc.health.v1.HealthCheckRequest is not a single message`,
		"service\nx,y\n":    "record on line 2: wrong number of fields",
	} {
		if _, err := data.FromCSV([]byte(text), of); err == nil || err.Error() != want {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
}

func TestBodiesAreSentInTurn(t *testing.T) {
	all, err := data.Bodies("b.ndjson", []byte("{\"a\":1}\n{\"a\": {{.Number}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n := range uint64(4) {
		body, err := all.For(data.Call{Number: n})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(body))
	}
	if want := `{"a":1} {"a": 1} {"a":1} {"a": 3}`; strings.Join(got, " ") != want {
		t.Errorf("the bodies are %s, want %s", got, want)
	}
}

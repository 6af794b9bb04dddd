package service_test

import (
	"io"
	"strings"
	"testing"

	"rpclab/internal/service"
)

// The ids that a GET request needs are often in a file.
func TestThePathAndTheHeadersUseFieldsOfADataFile(t *testing.T) {
	const rows = "id,name,items.first\n007,a b,1\n8,,2\n"
	for method, bodies := range map[string][]string{
		"GET": {"", ""}, "DELETE": {"", ""},
		"POST": {`{"id":"007","items":{"first":1},"name":"a b"}`, `{"id":8,"items":{"first":2}}`},
	} {
		call, err := service.OpenHTTP(service.Spec{
			Name: "call", HTTP: method, Path: "/orders/{{.id}}?name={{.name}}", File: "ids.csv", Data: rows, Metadata: map[string][]string{"x-id": {`{{printf "<%s>" .id}}`}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range []struct{ url, id string }{{"/orders/007?name=a%20b", "<007>"}, {"/orders/8?name=", "<8>"}, {"/orders/007?name=a%20b", "<007>"}} {
			request, err := call.For(t.Context(), "http://shop", uint64(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(request.Body)
			if err != nil || request.URL.String() != "http://shop"+want.url || request.Header.Get("x-id") != want.id || string(body) != bodies[n%2] {
				t.Errorf("request %d is %s %s of %s with %q, %v; want %s of %s with %q", n, method, request.URL, request.Header.Get("x-id"), body, err, want.url, want.id, bodies[n%2])
			}
		}
	}
}

func TestADataFileWhoseFieldsNoTemplateUsesIsTheBody(t *testing.T) {
	call, err := service.OpenHTTP(service.Spec{HTTP: "GET", Path: "/{{.Number}}", File: "queries.ndjson", Data: `{"id": 1}`})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := call.Body(0, nil); err != nil || string(body) != `{"id": 1}` {
		t.Errorf("the body is %s, %v; want that of the file", body, err)
	}
}

func TestMetadataUsesFieldsOfADataFile(t *testing.T) {
	spec := service.Spec{File: "names.ndjson", Data: `{"name": "a"} {"name": "b"}`, Metadata: map[string][]string{"tenant": {"of-{{.name}}"}}}
	call, err := open(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"of-a", "of-b", "of-a"} {
		if md, err := call.Metadata(uint64(n), nil); err != nil || md.Get("tenant")[0] != want {
			t.Errorf("metadata of call %d: %v, %v; want tenant %s", n, md, err, want)
		}
	}
	if md, err := spec.FirstMetadata(); err != nil || md.Get("tenant")[0] != "of-a" {
		t.Errorf("the metadata of a request before the calls is %v, %v; want tenant of-a", md, err)
	}
}

func TestAFieldOfADataFileMayFollowTheNumberOfTheCall(t *testing.T) {
	call, err := service.OpenHTTP(service.Spec{HTTP: "GET", Path: `/{{printf "%d-%s" .Number .id}}`, File: "ids.csv", Data: "id\na\n"})
	if err != nil {
		t.Fatal(err)
	}
	if path, err := call.Path(3, nil); err != nil || string(path) != "/3-a" {
		t.Errorf("the path is %s, %v; want /3-a", path, err)
	}
}

func TestErrorsOfFieldsOfADataFile(t *testing.T) {
	for _, c := range []struct{ data, path, want string }{
		{"id\n7\n", "/{{.ids}}", "path of call call: 1:3: {{.ids}}: the call has .Number, and .id by its from or its data file"},
		{"id\n{{uuid}}\n", "/{{.id}}", "data of call call: ids.csv: row 1 has a template, and its fields are in a template: write the row without one"},
		{"", "/{{.id}}", "there is no row below the header"},
	} {
		_, err := service.OpenHTTP(service.Spec{Name: "call", HTTP: "GET", Path: c.path, File: "ids.csv", Data: c.data})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: the error is %v, want %s", c.data, err, c.want)
		}
	}
}

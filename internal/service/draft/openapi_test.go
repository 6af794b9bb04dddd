package draft_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/service"
	"rpclab/internal/service/draft"
	"rpclab/internal/testkit"
)

func TestADraftOfAnOpenAPIDocumentIsAServiceFile(t *testing.T) {
	read, err := draft.ReadOpenAPI("testdata/shop.openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := draft.Service{Command: "rpclab init 127.0.0.1:1", Addresses: []string{"127.0.0.1:1"}, OpenAPI: read}.Write()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "shop.yaml", string(text))
	if _, err := experiment.ReadService(experiment.ServiceDocument{File: "orders.yaml", Text: text}, lab.Vocabulary()); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

func TestErrorsOfOpenAPIDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                      "is no OpenAPI document of version 3",
		"openapi: 3.0.0":                         "has no paths",
		"openapi: 3.0.0\npaths: {/x: {}}":        "has no operations",
		"swagger: '2.0'\npaths: {/x: {get: {}}}": "is no OpenAPI document of version 3",
		"openapi: 3.0.0\nservers: [null]\npaths: {/x: {get: {}}}":                            "servers[0] is empty: write its url",
		"openapi: 3.0.0\nservers: [{url: '/{v}', variables: {v: }}]\npaths: {/x: {get: {}}}": "servers[0].variables.v is empty: write its default",
		"openapi: 3.0.0\npaths: {/x: {get: {parameters: [{$ref: 'other.yaml#/a'}]}}}":        "that stands alone",
	} {
		path := filepath.Join(t.TempDir(), "api.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := draft.ReadOpenAPI(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A query has an element of a list, and no text of Go.
func TestSamplesOfListsAndObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.yaml")
	text := `{openapi: 3.0.0, paths: {/x: {get: {parameters: [
		{name: ids, in: query, required: true, schema: {type: array, items: {type: integer}}},
		{name: X-Filter, in: header, required: true, example: {a: 1}}]}}}}`
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := draft.ReadOpenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	if r := read.Requests[0]; r.Path != "/x?ids=1" || len(r.Headers) != 1 || r.Headers[0][1] != `{"a":1}` {
		t.Errorf("the request is %+v, want ids=1 and X-Filter as JSON", r)
	}
}

func TestAParameterOfAnOperationReplacesThatOfItsPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.yaml")
	text := `{openapi: 3.0.0, paths: {/x: {
		parameters: [
			{name: key, in: query, required: true, example: path}, {name: X-Key, in: header, required: true, example: path},
			{name: page, in: query, required: true, example: 7}],
		get: {parameters: [
			{name: key, in: query, required: true, example: operation}, {name: x-key, in: header, required: true, example: operation},
			{name: page, in: header, required: true, example: 8}]}}}}`
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := draft.ReadOpenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(read.Requests[0].Path, read.Requests[0].Headers)
	if want := "/x?page=7&key=operation[[x-key operation] [page 8]]"; got != want {
		t.Errorf("the request has %s, want %s", got, want)
	}
}

// Servers reject 1e+06 as an integer.
func TestLargeNumbersAreWrittenInDigits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.yaml")
	text := `{openapi: 3.0.0, paths: {"/x/{id}": {post: {parameters: [
		{name: id, in: path, required: true, schema: {type: integer, example: 1234567}},
		{name: least, in: query, required: true, schema: {type: integer, minimum: 1000000}},
		{name: X-Share, in: header, required: true, example: 0.0000125}],
		requestBody: {content: {application/json: {example: {all: [1234567, 0.5]}}}}}}}}`
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := draft.ReadOpenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	written, err := draft.Service{Command: "rpclab init 127.0.0.1:1", Addresses: []string{"127.0.0.1:1"}, OpenAPI: read}.Write()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"path: /x/1234567?least=1000000\n", "X-Share: \"0.0000125\"\n", "data: {all: [1234567, 0.5]}\n"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%q is missing in\n%s", want, written)
		}
	}
}

// What a document leaves out, and what would be a template, is a valid sample all the same.
func TestSamplesOfWhatIsNotDeclared(t *testing.T) {
	read, err := draft.ReadOpenAPI("testdata/odd.openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := draft.Service{Command: "rpclab init 127.0.0.1:1", Addresses: []string{"127.0.0.1:1"}, OpenAPI: read}.Write()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "odd.yaml", string(text))
	file, err := experiment.ReadService(experiment.ServiceDocument{File: "odd.yaml", Text: text}, lab.Vocabulary())
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	sent := map[string]string{}
	for _, call := range file.Calls {
		prepared, err := service.OpenHTTP(service.Spec{Name: call.Name, HTTP: call.HTTP, Path: call.Path, Data: string(call.Data), Metadata: call.Metadata})
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		request, err := prepared.For(t.Context(), "http://shop", 0, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		sent[call.Name] = fmt.Sprintf("%s %s %s", request.URL, request.Header.Get("X-Template"), body)
	}
	for name, want := range map[string]string{
		"get-item": "http://shop/items/1/parts/1 {{.}} ", "put-item": `http://shop/items/%7B%7Bx  {"{{key":1,"note":"{{if}}"}`,
		"login": "http://shop/login  name=a+b%26c&scope=x&scope=y&template=%7B%7Bz",
	} {
		if sent[name] != want {
			t.Errorf("%s sends %q, want %q", name, sent[name], want)
		}
	}
}

// OpenAPI 3.1 writes a field that may be null as a list of types.
func TestASampleOfANullableFieldHasItsType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.yaml")
	text := `{openapi: 3.1.0, info: {title: x, version: "1"}, paths: {"/a/{id}": {post: {responses: {}, parameters: [
		{name: id, in: path, required: true, schema: {type: [integer, "null"], minimum: 3}},
		{name: tag, in: query, required: true, schema: {type: ["null", array], items: {type: ["null", boolean]}}}],
		requestBody: {content: {application/json: {schema: {type: [object, "null"], properties: {
			many: {type: [number, string, "null"]}, name: {type: [string, "null"]}, none: {type: "null"}, one: {anyOf: [{type: "null"}, {type: integer, minimum: 7}]}, parts: {type: [array, "null"], items: {type: integer}}}}}}}}}}}`
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := draft.ReadOpenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := draft.Service{Command: "rpclab init 127.0.0.1:1", Addresses: []string{"127.0.0.1:1"}, OpenAPI: read}.Write()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"path: /a/3?tag=true\n", "data: {many: 1, name: text, none: null, one: 7, parts: [1]}\n"} {
		if !strings.Contains(string(draft), want) {
			t.Errorf("the file lacks %q:\n%s", want, draft)
		}
	}
}

// Of 16 schemas, each has two properties of the next: 2^16 objects.
func TestASampleOfNestedSchemasIsSmall(t *testing.T) {
	schemas := ""
	for i := range 16 {
		next := fmt.Sprintf("{$ref: '#/components/schemas/s%d'}", i+1)
		schemas += fmt.Sprintf("s%d: {type: object, properties: {b: %s, a: %s, id: {type: string}}}, ", i, next, next)
	}
	text := `{openapi: 3.0.0, paths: {/x: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/s0'}}}}}}},
 components: {schemas: {` + schemas + `s16: {type: object, properties: {id: {type: string}}}}}}`
	path := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := draft.ReadOpenAPI(path)
	if err != nil {
		t.Fatal(err)
	}
	written, err := draft.Service{Command: "x", Addresses: []string{"127.0.0.1:1"}, OpenAPI: read}.Write()
	if objects := strings.Count(string(written), "id: text"); err != nil || objects < 2 || objects > 100 {
		t.Errorf("the sample has %d objects (%v), want 2 to 100:\n%.2000s", objects, err, written)
	}
}

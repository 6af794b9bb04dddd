package draft_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
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
		"{":                               "is no OpenAPI document of version 3",
		"openapi: 3.0.0":                  "has no paths",
		"swagger: '2.0'\npaths: {/x: {}}": "has no operations",
		"openapi: 3.0.0\npaths: {/x: {get: {parameters: [{$ref: 'other.yaml#/a'}]}}}": "that stands alone",
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

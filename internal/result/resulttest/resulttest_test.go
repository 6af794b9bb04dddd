package resulttest

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValidateRejectsADocumentWithoutARequiredField(t *testing.T) {
	schema, err := resultSchema()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := result.Write(&text, result.Document{Schema: result.Schema, Cluster: "local"}); err != nil {
		t.Fatal(err)
	}
	if err := validate(schema, text.Bytes()); err != nil {
		t.Error(err)
	}
	lacking := strings.Replace(text.String(), `"rounds"`, `"circles"`, 1)
	if err := validate(schema, []byte(lacking)); err == nil || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("the error of a document without rounds is %v, want one that names rounds", err)
	}
	if err := validate(schema, nil); err == nil {
		t.Error("an empty document is accepted")
	}
}

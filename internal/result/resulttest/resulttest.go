// Package resulttest reads the documents that rpclab writes and holds them to their published schemas.
package resulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rpclab/internal/result"
)

// The tests of package result compare these schemas with api/*.schema.json.
var (
	resultSchema     = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(result.JSONSchema()) })
	comparisonSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(result.ComparisonJSONSchema()) })
)

// Read reads a result. It reports an error if the result does not follow api/result.schema.json.
func Read(t testing.TB, r io.Reader) result.Document {
	t.Helper()
	text := validated(t, r, result.Schema, resultSchema)
	d, err := result.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ReadComparison reads a comparison. It reports an error if the comparison does not follow
// api/comparison.schema.json.
func ReadComparison(t testing.TB, r io.Reader) result.Comparison {
	t.Helper()
	text := validated(t, r, result.ComparisonSchema, comparisonSchema)
	var c result.Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func validated(t testing.TB, r io.Reader, name string, schema func() (*jsonschema.Schema, error)) []byte {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(compiled, text); err != nil {
		t.Errorf("the document does not follow the schema of %s: %v", name, err)
	}
	return text
}

func validate(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read %.100q: %w", text, err)
	}
	return schema.Validate(value)
}

func compile(text []byte, err error) (*jsonschema.Schema, error) {
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const url = "schema.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(url, schema); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

package result

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of a [Document], generated from the Go types. A field
// without omitempty is required. An `enum` tag lists the allowed values, and `zero:"null"` means that JSON has
// null instead of zero. Unknown fields are allowed, because later versions of rpclab may add fields.
func JSONSchema() ([]byte, error) { return schemaOf(reflect.TypeFor[Document](), Schema) }

// ComparisonJSONSchema returns the JSON Schema of a [Comparison].
func ComparisonJSONSchema() ([]byte, error) {
	return schemaOf(reflect.TypeFor[Comparison](), ComparisonSchema)
}

func schemaOf(t reflect.Type, name string) ([]byte, error) {
	g := generator{defs: map[string]any{}}
	root := g.object(t)
	root["properties"].(map[string]any)["schema"] = map[string]any{"const": name}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = name
	root["$defs"] = g.defs
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

type generator struct{ defs map[string]any }

func (g generator) of(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{g.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		name := strings.ToLower(t.Name())
		if _, done := g.defs[name]; !done {
			g.defs[name] = nil // a type may refer to itself
			g.defs[name] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	default: // any
		return map[string]any{}
	}
}

func (g generator) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "" || name == "-" {
			continue // VisibleFields lists the embedded fields too
		}
		properties[name] = g.field(field, options)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (g generator) field(field reflect.StructField, options string) map[string]any {
	t := field.Type
	if t.Kind() == reflect.Pointer && options == "omitempty" {
		t = t.Elem()
	}
	if field.Tag.Get("zero") == "null" {
		t = reflect.PointerTo(t)
	}
	form := g.of(t)
	if values := field.Tag.Get("enum"); values != "" {
		form["enum"] = strings.Split(values, ",")
	}
	return form
}

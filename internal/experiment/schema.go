package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// durationPattern matches non-negative durations of time.ParseDuration.
const durationPattern = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

// Schema returns the JSON Schema (draft 2020-12) of experiment documents, generated from the types of the
// decoder. Only [Read] checks fields that depend on each other, such as references to arms, and the bounds of
// durations and percentages.
func Schema(vocabulary Vocabulary) ([]byte, error) {
	w := schemaWriter{newGrammar(vocabulary), map[string]any{}}
	for _, path := range w.configPaths() {
		t, err := w.grammar.configTarget(path)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", path, err)
		}
		w.defs[path] = w.of(t.typ)
	}
	root := w.of(w.grammar.document)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "rpclab experiment"
	root["$defs"] = w.defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return append(out, '\n'), nil
}

// schemaWriter defines every config field once, under its path. The defaults, arms, sweep, cells
// and quick settings refer to it.
type schemaWriter struct {
	grammar *grammar
	defs    map[string]any
}

// configPaths are the paths of all config fields, including nested ones.
func (w schemaWriter) configPaths() []string {
	var all []string
	var walk func(typ *valueType)
	walk = func(typ *valueType) {
		for _, f := range typ.fields {
			all = append(all, f.typ.path)
			walk(f.typ)
		}
	}
	walk(w.grammar.config)
	return all
}

func (w schemaWriter) ref(typ *valueType) map[string]any {
	if typ.path != "" {
		return map[string]any{"$ref": "#/$defs/" + typ.path}
	}
	return w.of(typ)
}

func (w schemaWriter) of(typ *valueType) map[string]any {
	out := map[string]any{}
	switch typ.kind {
	case record:
		out = w.record(typ)
	case list:
		out["type"], out["items"] = "array", w.ref(typ.of)
	case named:
		out["type"], out["minProperties"] = "object", 1
		out["propertyNames"] = map[string]any{"pattern": slug.String()}
		element := w.of(typ.of)
		element["type"] = []string{"object", "null"}
		out["additionalProperties"] = element
	case paths:
		out["type"], out["additionalProperties"] = "object", false
		out["properties"], out["patternProperties"] = w.paths(typ)
	case texts:
		one := map[string]any{"type": []string{"string", "number", "boolean"}}
		out["type"], out["additionalProperties"] = "object", one
		if typ.typ.Elem().Kind() == reflect.Slice {
			out["additionalProperties"] = map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
		}
	case data: // any value
	case object:
		out["type"] = "object"
	default:
		out = w.scalar(typ)
	}
	if typ.doc != "" {
		out["description"] = typ.doc
	}
	return out
}

func (w schemaWriter) record(typ *valueType) map[string]any {
	properties := map[string]any{}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	var required []string
	for _, f := range typ.fields {
		property := w.ref(f.typ)
		if f.alternative && f.typ.kind == flag {
			property["const"] = true
		}
		if f.fallback != nil {
			property["default"] = f.fallback.value
		}
		properties[f.name] = property
		if f.required && !(typ.partial || f.typ.path != "" && typ.words == nil) {
			required = append(required, f.name)
		}
	}
	if required != nil {
		out["required"] = required
	}
	switch one := typ.alternatives(); {
	case len(one) == len(typ.fields): // part of a config: the defaults may set the field
		out["maxProperties"] = 1
	case typ.hasDefaultAlternative():
		out["not"] = map[string]any{"required": one}
	case len(one) > 0 && len(typ.groups()) == 1:
		out["oneOf"] = requireEach(one)
	case len(one) > 0:
		out["anyOf"] = requireEach(one)
		var each []any
		for _, group := range typ.groups() {
			each = append(each, map[string]any{"oneOf": append(requireEach(group), map[string]any{"not": map[string]any{"anyOf": requireEach(group)}})})
		}
		out["allOf"] = each
	}
	if typ.words != nil {
		return map[string]any{"anyOf": []any{map[string]any{"enum": typ.words}, out}}
	}
	return out
}

// requireEach returns one schema for each name, which requires the field of that name.
func requireEach(names []string) []any {
	var options []any
	for _, name := range names {
		options = append(options, map[string]any{"required": []string{name}})
	}
	return options
}

func (w schemaWriter) scalar(typ *valueType) map[string]any {
	switch typ.kind {
	case duration:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "string", "pattern": durationPattern},
			map[string]any{"const": 0},
		}}
	case percent:
		return map[string]any{"type": "string", "pattern": percentForm.String()}
	case memory:
		return map[string]any{"type": "string", "pattern": sizeForm.String()}
	case flag:
		return map[string]any{"type": "boolean"}
	case text:
		out := map[string]any{"type": "string", "minLength": 1}
		if len(typ.enum) > 0 {
			out["enum"] = typ.enum
		}
		if typ.slug {
			out["pattern"] = slug.String()
		}
		return out
	}
	out := map[string]any{"type": map[valueKind]string{integer: "integer", number: "number"}[typ.kind]}
	if typ.low != nil {
		out["minimum"] = typ.low.value
	}
	if typ.high != nil {
		out["maximum"] = typ.high.value
	}
	return out
}

// paths are the valid field paths and their values. Settings can also name fields of the
// document; the decoder checks those of an arm.
func (w schemaWriter) paths(typ *valueType) (properties, patterns map[string]any) {
	properties, patterns = map[string]any{}, map[string]any{}
	for _, path := range w.configPaths() {
		ref := map[string]any{"$ref": "#/$defs/" + path}
		axis := map[string]any{"type": "array", "minItems": 1, "uniqueItems": true, "items": ref}
		if typ.many {
			properties[path] = axis
			continue
		}
		properties[path] = ref
		if w.settings(typ) {
			properties["defaults."+path] = ref
			properties["sweep."+path] = axis
		}
	}
	if w.settings(typ) {
		patterns[`^arms\.`] = map[string]any{}
		for _, f := range w.grammar.document.fields {
			if !slices.Contains([]string{"quick", "arms", "defaults"}, f.name) {
				properties[f.name] = w.of(f.typ)
			}
		}
	}
	return properties, patterns
}

func (w schemaWriter) settings(typ *valueType) bool { return typ.name == "quick" }

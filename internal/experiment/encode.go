package experiment

import (
	"encoding/json"
	"maps"
	"reflect"
	"sync"
	"time"
)

// configType is the type of a config; reading it takes as long as encoding many configs.
var configType = sync.OnceValue(func() *valueType { return newGrammar(Vocabulary{}).config })

// Map is the config as nested maps with its YAML names; durations are strings such as "500ms". It
// omits fields with their default values, and hides the values of caller.env. Decoding
// it returns the same config otherwise.
func (c Config) Map() map[string]any {
	c.Caller.Env = maps.Clone(c.Caller.Env)
	for name := range c.Caller.Env {
		c.Caller.Env[name] = notShown // it can be a secret
	}
	m, _ := encode(configType(), reflect.ValueOf(c)).(map[string]any)
	return m
}

func encode(typ *valueType, v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch typ.kind {
	case integer:
		return int(v.Int())
	case duration:
		return formatDuration(time.Duration(v.Int()))
	case percent:
		return Percent(v.Float()).String()
	case memory:
		return Bytes(v.Uint()).String()
	case object:
		var value map[string]any
		_ = json.Unmarshal([]byte(v.String()), &value) // the decoder made the text
		return value
	case list, named:
		all := []any{}
		for i := range v.Len() {
			all = append(all, encode(typ.of, v.Index(i)))
		}
		return all
	case record:
		return encodeRecord(typ, v)
	}
	return v.Interface()
}

func encodeRecord(typ *valueType, v reflect.Value) any {
	if typ.word != nil {
		for _, word := range typ.words {
			if v.FieldByIndex(typ.word).String() == word {
				return word
			}
		}
	}
	m := map[string]any{}
	for _, f := range typ.fields {
		value := v.FieldByIndex(f.index)
		if value.IsZero() && (f.fallback == nil || f.alternative) {
			continue
		}
		p := encode(f.typ, value)
		// The presence of an alternative or a pointer has a meaning, even if it is empty.
		optional := f.alternative || value.Kind() == reflect.Pointer
		if inner, ok := p.(map[string]any); ok && len(inner) == 0 && !optional {
			continue
		}
		m[f.name] = p
	}
	return m
}

package experiment

import (
	"reflect"
	"strings"
	"time"
)

// Map is the config as nested maps under its YAML names, durations as strings
// such as "500ms". Decoding it gives the config back: what is left out is what
// leaving it out means.
func (c Config) Map() map[string]any {
	s := newGrammar(Vocabulary{}).config
	m, _ := plain(s, reflect.ValueOf(c)).(map[string]any)
	return m
}

func plain(s *shape, v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch s.kind {
	case integer:
		return int(v.Int())
	case duration:
		return short(time.Duration(v.Int()))
	case percent:
		return Percent(v.Float()).String()
	case memory:
		return Bytes(v.Uint()).String()
	case list, named:
		all := []any{}
		for i := range v.Len() {
			all = append(all, plain(s.of, v.Index(i)))
		}
		return all
	case record:
		return plainRecord(s, v)
	}
	return v.Interface()
}

func plainRecord(s *shape, v reflect.Value) any {
	if s.word != nil {
		for _, word := range s.words {
			if v.FieldByIndex(s.word).String() == word {
				return word
			}
		}
	}
	m := map[string]any{}
	for _, f := range s.fields {
		value := v.FieldByIndex(f.index)
		if value.IsZero() && f.fallback == nil {
			continue
		}
		p := plain(f.shape, value)
		// What is there or not says something even when it says no more.
		optional := f.alternative || value.Kind() == reflect.Pointer
		if inner, ok := p.(map[string]any); ok && len(inner) == 0 && !optional {
			continue
		}
		m[f.name] = p
	}
	return m
}

// short writes a duration without the zero units that its String has: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

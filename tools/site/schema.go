package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the schemas of rpclab use.
type schema struct {
	Ref         string            `json:"$ref"`
	Defs        map[string]schema `json:"$defs"`
	Type        any               `json:"type"` // a name, or several
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	Values      json.RawMessage   `json:"additionalProperties"` // a schema, or whether other properties are allowed
	Enum        []any             `json:"enum"`
	Const       any               `json:"const"`
	AnyOf       []schema          `json:"anyOf"`
	OneOf       []schema          `json:"oneOf"`
	Default     any               `json:"default"`
	Pattern     string            `json:"pattern"`
	Format      string            `json:"format"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
}

// of is the schema of a map's values; ok is false for another schema.
func (s schema) of() (values schema, ok bool) {
	ok = len(s.Values) > 0 && s.Values[0] == '{' && json.Unmarshal(s.Values, &values) == nil
	return values, ok
}

// reference is the definition to which a schema refers; empty: it is complete.
func (s schema) reference() string { return strings.TrimPrefix(s.Ref, "#/$defs/") }

// resolve replaces a reference. The description and the default of the field remain.
func (s schema) resolve(defs map[string]schema) schema {
	name := s.reference()
	if name == "" {
		return s
	}
	found := defs[name]
	found.Description, found.Default = cmp.Or(s.Description, found.Description), cmp.Or(s.Default, found.Default)
	return found
}

// values names the values that the schema accepts.
func (s schema) values(defs map[string]schema) string {
	s = s.resolve(defs)
	of, isMap := s.of()
	switch {
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.Enum) > 0:
		return oneOf(s.Enum)
	case len(s.AnyOf) > 0:
		return s.anyOf(defs)
	case strings.Contains(s.Pattern, "ns|us"):
		return "duration, such as `10ms`"
	case strings.Contains(s.Pattern, "%"):
		return "percentage, such as `2%`"
	case strings.Contains(s.Pattern, "Ki") || strings.Contains(s.Pattern, "Mi"):
		return "size, such as `256Mi`"
	case s.Format == "date-time":
		return "time"
	case s.Items != nil:
		return "list of " + plural(s.Items.values(defs))
	case len(s.Properties) > 0:
		return "object"
	case isMap && (len(of.Properties) > 0 || of.Ref != ""):
		return "objects by name"
	case isMap:
		return strings.TrimSpace(plural(of.values(defs)) + " by name")
	}
	return s.name() + s.bounds()
}

func plural(values string) string {
	for _, name := range []string{"object", "string", "integer", "number"} {
		if values == name {
			return values + "s"
		}
	}
	return values
}

func oneOf(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(all, ", ")
}

func (s schema) anyOf(defs map[string]schema) string {
	var all []string
	for _, one := range s.AnyOf {
		if one.Const != nil && strings.Contains(strings.Join(all, ""), "duration") { // 0 is a duration, too
			continue
		}
		if name := one.values(defs); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", or ")
}

// name is the type without null.
func (s schema) name() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return fmt.Sprint(one)
			}
		}
	}
	return "any value"
}

func (s schema) bounds() string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(", %s to %s", decimal(*s.Minimum), decimal(*s.Maximum))
	case s.Minimum != nil:
		return fmt.Sprintf(", at least %s", decimal(*s.Minimum))
	}
	return ""
}

// decimal groups the digits of large numbers: 1,000,000.
func decimal(f float64) string {
	text := fmt.Sprint(f)
	if f != float64(int64(f)) {
		return text
	}
	text = fmt.Sprintf("%d", int64(f))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// fields calls see with every field below a schema in order of their names, with its path. A reference that a
// recursion would repeat is not followed again.
func (s schema) fields(defs map[string]schema, path string, see func(path string, field schema, required bool)) {
	s = s.resolve(defs)
	if of, ok := s.of(); ok {
		of.fields(defs, path+".NAME", see)
	}
	if s.Items != nil {
		s.Items.fields(defs, path+"[]", see)
	}
	for _, one := range s.AnyOf {
		one.fields(defs, path, see)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		see(at, field, slices.Contains(s.Required, name))
		field.fields(defs, at, see)
	}
}

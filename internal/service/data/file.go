package data

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// IsCSV reports whether a file has comma-separated values, by its name.
func IsCSV(file string) bool { return strings.EqualFold(path.Ext(file), ".csv") }

// FromCSV returns the rows of comma-separated values as objects in JSON, one on each line. The first row
// names the fields; a.b is the field b of the message a. An empty cell leaves its field out. of is the type
// of the objects; nil: cells that are numbers or true or false in JSON are so in the objects too, and the others
// are texts.
func FromCSV(text []byte, of protoreflect.MessageDescriptor) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, errors.New("there is no row below the header, which names the fields")
	}
	var all bytes.Buffer
	for _, row := range rows[1:] {
		object := map[string]any{}
		for i, cell := range row {
			if cell == "" {
				continue
			}
			if err := set(object, strings.Split(strings.TrimSpace(rows[0][i]), "."), cell, of); err != nil {
				return nil, err
			}
		}
		line, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		all.Write(unescapeActions(line))
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}

// set sets the field at a path of an object of a type, which may be nil.
func set(object map[string]any, steps []string, cell string, of protoreflect.MessageDescriptor) error {
	var field protoreflect.FieldDescriptor
	if of != nil {
		fields := of.Fields()
		if field = fields.ByName(protoreflect.Name(steps[0])); field == nil {
			field = fields.ByJSONName(steps[0])
		}
		if field == nil {
			return fmt.Errorf("the header names %q, which is not a field of %s", steps[0], of.FullName())
		}
	}
	if len(steps) == 1 {
		object[steps[0]] = value(cell, field)
		return nil
	}
	within, _ := object[steps[0]].(map[string]any)
	if within == nil {
		within = map[string]any{}
		object[steps[0]] = within
	}
	var inner protoreflect.MessageDescriptor
	if field != nil {
		if inner = field.Message(); inner == nil || field.IsList() || field.IsMap() {
			return fmt.Errorf("the header names %s, but %q of %s is not a single message", strings.Join(steps, "."), steps[0], of.FullName())
		}
	}
	return set(within, steps[1:], cell, inner)
}

// value returns a cell as a value in JSON. Protobuf accepts numbers as texts.
func value(cell string, field protoreflect.FieldDescriptor) any {
	literal := json.Valid([]byte(cell))
	switch {
	case !literal:
	case field == nil && !strings.ContainsAny(cell[:1], `"[{n`), field != nil && (field.Kind() == protoreflect.BoolKind || field.IsList() || field.IsMap()):
		return json.RawMessage(cell)
	}
	return cell
}

// unescapeActions undoes the escapes of JSON in template actions.
func unescapeActions(line []byte) []byte {
	return templateAction.ReplaceAllFunc(line, func(action []byte) []byte {
		var text string
		if json.Unmarshal([]byte(`"`+string(action)+`"`), &text) != nil {
			return action
		}
		return []byte(text)
	})
}

// Unquoted returns the text of a JSON string whose template actions are not escaped; ok is false for another value.
func Unquoted(value []byte) (text []byte, ok bool) {
	value = bytes.TrimSpace(value)
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	value = value[1 : len(value)-1]
	last := 0
	unquote := func(part []byte) bool {
		var unquoted string
		err := json.Unmarshal(slices.Concat([]byte(`"`), part, []byte(`"`)), &unquoted)
		text = append(text, unquoted...)
		return err == nil
	}
	for _, at := range templateAction.FindAllIndex(value, -1) {
		if !unquote(value[last:at[0]]) {
			return nil, false
		}
		text, last = append(text, value[at[0]:at[1]]...), at[1]
	}
	return text, unquote(value[last:])
}

// Bodies parses HTTP bodies in JSON: one value, the elements of an array, or several values (NDJSON), which
// requests have in turn. Each may be a template, which can use values of these names.
func Bodies(name string, text []byte, values ...string) (*Messages, error) {
	parts, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := &Messages{values: values, escape: escapeJSON}
	for _, part := range parts {
		if err := all.add(part, func(text []byte) ([]byte, error) { return text, nil }); err != nil {
			return nil, fmt.Errorf("%s: %w", name, withoutPrefixes(err))
		}
	}
	return all, nil
}

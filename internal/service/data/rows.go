package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"text/template"

	"rpclab/internal/fields"
)

// Rows are the objects of a data file, whose fields templates outside of the messages can use. They are safe for
// concurrent use.
type Rows struct {
	names []string
	rows  [][]byte
}

// ReadRows parses objects in JSON: one, the elements of an array, or several (NDJSON).
func ReadRows(text []byte) (*Rows, error) {
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i, part := range parts {
		if bytes.Contains(part, []byte("{{")) {
			return nil, fmt.Errorf("row %d has a template, and its fields are in a template: write the row without one", i+1)
		}
		row, err := fieldsOf(part)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		for name := range row {
			names[name] = true
		}
	}
	return &Rows{slices.Sorted(maps.Keys(names)), parts}, nil
}

// Names are the names of the fields of all rows.
func (r *Rows) Names() []string { return r.names }

// Add adds the fields of the call's row to its values. Fields that the row lacks are empty. A nil r adds none.
func (r *Rows) Add(to Call) Call {
	if r == nil {
		return to
	}
	all, _ := fieldsOf(r.rows[to.Number%uint64(len(r.rows))]) // which was parsed before
	for _, name := range r.names {
		if _, known := all[name]; !known {
			all[name] = ""
		}
	}
	maps.Copy(all, to.Values)
	to.Values = all
	return to
}

// Fields returns the names of the fields that a template uses; nil also for a text that is no template.
func Fields(text string) []string {
	parsed, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		return nil
	}
	return fields.Of(parsed)
}

// fieldName matches the names that a template can use as {{.name}}.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fieldsOf returns the texts, numbers and conditions of an object in JSON as texts.
func fieldsOf(object []byte) (map[string]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber() // as it is written
	var read map[string]any
	if decoder.Decode(&read) != nil || read == nil {
		return nil, errors.New("it is no object, so it has no fields")
	}
	all := map[string]string{}
	for name, value := range read {
		switch value.(type) {
		case string, json.Number, bool:
			if fieldName.MatchString(name) {
				all[name] = fmt.Sprint(value)
			}
		}
	}
	return all, nil
}

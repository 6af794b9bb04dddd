package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ErrSchema: the document has a schema that this program does not read.
var ErrSchema = errors.New("not a document of " + Schema)

// Write writes the document as indented JSON. Equal documents give equal bytes. No list or map
// is null.
func Write(w io.Writer, d Document) error {
	if d.Schema != Schema {
		return fmt.Errorf("write result %s: schema %q: %w", d.ID, d.Schema, ErrSchema)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(d.filled()); err != nil {
		return fmt.Errorf("write result %s: %w", d.ID, err)
	}
	return nil
}

// Read reads one document and rejects other schemas. It ignores unknown fields: a later rpclab
// may add fields to the same schema.
func Read(r io.Reader) (Document, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Document{}, fmt.Errorf("read result: %w", err)
	}
	return decode(data)
}

func decode(data []byte) (Document, error) {
	var form struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return Document{}, fmt.Errorf("read result: %w: not a JSON document: %w", ErrUnreadable, err)
	}
	var version int
	if _, err := fmt.Sscanf(form.Schema, schemaName+"%d", &version); err == nil && version > schemaVersion {
		return Document{}, fmt.Errorf("read result: the schema is %s, and this rpclab reads %s: %w; update rpclab", form.Schema, Schema, ErrNewer)
	}
	if form.Schema != Schema {
		return Document{}, fmt.Errorf("read result: the schema is %q: %w; name a file that --json wrote, or use the rpclab version that wrote it",
			form.Schema, ErrSchema)
	}
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return Document{}, fmt.Errorf("read result: %w: %w", ErrUnreadable, err)
	}
	return d.filled(), nil
}

// filled returns a copy with nil lists and maps replaced by empty ones. It does not change the
// caller's document.
func (d Document) filled() Document {
	d.Warnings = list(d.Warnings)
	d.Arms = list(d.Arms)
	d.Verdicts = list(d.Verdicts)
	d.Events = list(d.Events)
	for i := range d.Arms {
		d.Arms[i] = d.Arms[i].filled()
	}
	for i := range d.Verdicts {
		d.Verdicts[i].Cell = object(d.Verdicts[i].Cell)
	}
	d.Assertions = slices.Clone(d.Assertions)
	for i := range d.Assertions {
		d.Assertions[i].Cell = object(d.Assertions[i].Cell)
	}
	if d.Gates != nil {
		d.Gates = new(d.Gates.filled())
	}
	d.Published = slices.Clone(d.Published)
	for i := range d.Published {
		d.Published[i].Cell = object(d.Published[i].Cell)
	}
	return d
}

func (g Gates) filled() Gates {
	g.Results, g.Refused = list(g.Results), slices.Clone(g.Refused)
	for i := range g.Results {
		g.Results[i].Cell = object(g.Results[i].Cell)
	}
	for i := range g.Refused {
		g.Refused[i].Cell = object(g.Refused[i].Cell)
	}
	return g
}

func (a Arm) filled() Arm {
	a.Cell = object(a.Cell)
	a.Config = object(a.Config)
	a.Measures = a.Measures.filled()
	a.Trials = list(a.Trials)
	for i := range a.Trials {
		a.Trials[i] = a.Trials[i].filled()
	}
	return a
}

func (t Trial) filled() Trial {
	t.Measures = t.Measures.filled()
	t.Groups = slices.Clone(t.Groups)
	for i := range t.Groups {
		t.Groups[i] = list(t.Groups[i])
	}
	if t.Timeline != nil {
		filled := *t.Timeline
		filled.Backends = object(filled.Backends)
		filled.Errors = list(filled.Errors)
		filled.Late = list(filled.Late)
		filled.Ready = list(filled.Ready)
		t.Timeline = &filled
	}
	return t
}

func (m Measures) filled() Measures {
	m.Errors = object(m.Errors)
	m.Backends = object(m.Backends)
	m.ByName = maps.Clone(m.ByName)
	for name, calls := range m.ByName {
		calls.Errors = object(calls.Errors)
		m.ByName[name] = calls
	}
	return m
}

func list[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

func object[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

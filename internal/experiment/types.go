package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueType describes the values that a field of the document accepts. typeReader reads it from a
// Go type and its struct tags. The decoder and the JSON Schema use the same types.
type valueType struct {
	kind    valueKind
	name    string // name in messages: rounds, server.replicas, arm
	path    string // path of a config field: server.replicas
	what    string // name in messages of a value without name and path
	doc     string
	typ     reflect.Type
	low     *bound
	high    *bound
	enum    []string
	noun    string // what enum lists: route
	slug    bool
	words   []string // words that can replace a record
	word    []int    // the Go field that holds that word
	fields  []field
	of      *valueType // type of the elements of a list or of named records
	key     []int      // the Go field that holds the name of a named record
	many    bool       // paths: each accepts a list of values
	quick   string     // up, down: how --quick rounds what it shortens
	partial bool       // a record that merging completes
}

type valueKind int

const (
	integer valueKind = iota
	number
	text
	flag
	duration
	percent
	memory
	record
	list
	named  // records by name
	paths  // field path to value
	texts  // texts by name
	data   // any value, kept as JSON
	object // a mapping, kept as JSON
)

type bound struct {
	value float64
	text  string
}

type field struct {
	name        string
	typ         *valueType
	index       []int
	required    bool
	alternative bool
	group       string // of alternatives: a document may set one of each group
	optional    bool   // a pointer: nil when it is not given
	fallback    *node  // its default; nil: none
}

func (t *valueType) field(name string) *field {
	for i := range t.fields {
		if t.fields[i].name == name {
			return &t.fields[i]
		}
	}
	return nil
}

func (t *valueType) alternative(name string) bool {
	f := t.field(name)
	return f != nil && f.alternative
}

func (t *valueType) names() []string {
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	return names
}

func (t *valueType) alternatives() []string {
	var names []string
	for _, f := range t.fields {
		if f.alternative {
			names = append(names, f.name)
		}
	}
	return names
}

// groups returns the alternatives that exclude each other in a document.
func (t *valueType) groups() (groups [][]string) {
	index := map[string]int{}
	for _, f := range t.fields {
		if !f.alternative {
			continue
		}
		if _, known := index[f.group]; !known {
			index[f.group] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[f.group]] = append(groups[index[f.group]], f.name)
	}
	return groups
}

// hasDefaultAlternative reports whether one of the alternatives applies if none is given.
func (t *valueType) hasDefaultAlternative() bool {
	return slices.ContainsFunc(t.fields, func(f field) bool { return f.alternative && f.fallback != nil })
}

// recordForms are the forms of a record that can be a word instead: {pool: N}.
func (t *valueType) recordForms() string {
	var forms []string
	for _, f := range t.fields {
		value := strings.ToUpper(f.name)
		if f.typ.kind == integer {
			value = "N"
		}
		forms = append(forms, "{"+f.name+": "+value+"}")
	}
	return joinOr(forms)
}

// typeReader reads types; its vocabulary fills the enumerations.
type typeReader struct{ words map[string][]string }

func newTypeReader(v Vocabulary) typeReader {
	return typeReader{map[string][]string{"routes": v.Routes, "callers": v.Callers, "languages": v.Languages, "policies": v.PolicyNames()}}
}

func (r typeReader) read(t reflect.Type, tag reflect.StructTag, name, path string) *valueType {
	typ := &valueType{typ: t, name: name, path: path, doc: tag.Get("doc"), quick: tag.Get("quick")}
	switch t {
	case reflect.TypeFor[time.Duration]():
		typ.kind = duration
		typ.low, typ.high = durationBound(tag.Get("min")), durationBound(tag.Get("max"))
		if typ.low == nil {
			typ.low = &bound{0, "0s"}
		}
		return typ
	case reflect.TypeFor[Percent]():
		typ.kind = percent
		typ.low, typ.high = percentBound(tag.Get("min")), percentBound(tag.Get("max"))
		return typ
	case reflect.TypeFor[Bytes]():
		typ.kind = memory
		typ.low, typ.high = sizeBound(tag.Get("min")), sizeBound(tag.Get("max"))
		return typ
	case reflect.TypeFor[[]Axis]():
		typ.kind, typ.many = paths, true
		return typ
	case reflect.TypeFor[[]Setting](), reflect.TypeFor[map[string]any]():
		typ.kind = paths
		return typ
	case reflect.TypeFor[map[string]string](), reflect.TypeFor[Mix](), reflect.TypeFor[Metadata]():
		typ.kind = texts
		return typ
	case reflect.TypeFor[Data]():
		typ.kind = data
		return typ
	case reflect.TypeFor[ServiceConfig]():
		typ.kind = object
		return typ
	}
	switch t.Kind() {
	case reflect.Int:
		typ.kind = integer
	case reflect.Float64:
		typ.kind = number
	case reflect.Bool:
		typ.kind = flag
	case reflect.String:
		typ.kind, typ.slug = text, tag.Get("slug") != ""
		if words := tag.Get("enum"); words != "" {
			typ.enum, typ.noun = strings.Split(words, ","), tag.Get("noun")
		}
		if vocabulary := tag.Get("vocabulary"); vocabulary != "" {
			typ.enum, typ.noun = r.words[vocabulary], strings.TrimSuffix(strings.Replace(vocabulary, "ies", "ys", 1), "s")
		}
	case reflect.Pointer:
		return r.read(t.Elem(), tag, name, path)
	case reflect.Slice:
		typ.kind, typ.of = list, r.read(t.Elem(), elements(tag), strings.TrimSuffix(name, "s"), "")
		if typ.of.key != nil {
			typ.kind = named
		}
	case reflect.Struct:
		typ.kind = record
		typ.partial = path != "" || t == reflect.TypeFor[Config]()
		r.record(typ, t, nil, name)
	}
	typ.low, typ.high = numberBound(tag.Get("min")), numberBound(tag.Get("max"))
	return typ
}

// elements returns the part of a list's tag that applies to its elements.
func elements(tag reflect.StructTag) reflect.StructTag {
	return reflect.StructTag(fmt.Sprintf("enum:%q noun:%q", tag.Get("enum"), tag.Get("noun")))
}

// record adds the fields of t to typ. Inside a Config, messages name fields by their whole path,
// because an arm, the defaults and the sweep share them.
func (r typeReader) record(typ *valueType, t reflect.Type, at []int, name string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		index := append(slices.Clone(at), i)
		if f.Tag.Get("key") != "" {
			typ.key = index
			continue
		}
		if words := f.Tag.Get("words"); words != "" {
			typ.words, typ.word, typ.partial = strings.Split(words, ","), index, false
			continue
		}
		if f.Anonymous {
			r.record(typ, f.Type, index, "")
			continue
		}
		key := f.Tag.Get("yaml")
		path, full := "", key
		if t == reflect.TypeFor[Config]() {
			path = key
		} else if typ.path != "" {
			path = typ.path + "." + key
			full = path
		} else if name != "" {
			full = name + "." + key
		}
		var fallback *node
		if text := f.Tag.Get("default"); text != "" {
			fallback, _ = parseValue("default of "+full, text) // a test checks that it is valid
		}
		typ.fields = append(typ.fields, field{
			name: key, typ: r.read(f.Type, f.Tag, full, path), index: index,
			required: f.Tag.Get("required") != "", alternative: f.Tag.Get("alternative") != "", group: f.Tag.Get("alternative"), optional: f.Type.Kind() == reflect.Pointer,
			fallback: fallback,
		})
	}
}

func numberBound(text string) *bound {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return &bound{v, text}
	}
	return nil
}

func percentBound(text string) *bound {
	if v, ok := ParsePercent(text); ok {
		return &bound{float64(v), text}
	}
	return nil
}

func durationBound(text string) *bound {
	if d, err := time.ParseDuration(text); err == nil {
		return &bound{float64(d), text}
	}
	return nil
}

func sizeBound(text string) *bound {
	if v, ok := parseSize(text); ok {
		return &bound{float64(v), text}
	}
	return nil
}

// title is the name of the value in messages.
func (t *valueType) title() string {
	switch {
	case t.name != "":
		return t.name
	case t.partial: // a merged config
		return "an arm"
	case t.what != "":
		return t.what
	}
	return "the experiment"
}

func (t *valueType) within(v float64) bool {
	return (t.low == nil || v >= t.low.value) && (t.high == nil || v <= t.high.value)
}

func (t *valueType) span() string {
	switch {
	case t.low == nil && t.high == nil:
		return "a number"
	case t.high == nil:
		return "at least " + t.low.text
	case t.low == nil:
		return "at most " + t.high.text
	}
	return t.low.text + " to " + t.high.text
}

func (t *valueType) wanted() string {
	switch t.kind {
	case integer:
		return "a whole number"
	case number:
		return "a number"
	case duration:
		return "a duration such as 500ms or 2s"
	case percent:
		return "a percentage such as 2%"
	case memory:
		return "a size such as 512Mi or 1.5Gi"
	case flag:
		return "true or false"
	}
	return "text"
}

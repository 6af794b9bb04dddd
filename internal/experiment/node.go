package experiment

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// node is a value of the document with its position. Nodes are immutable: edits create new nodes,
// so that trees can share branches.
type node struct {
	at     position
	kind   nodeKind
	value  any    // scalar: string, int, int64, uint64, float64, bool or nil
	text   string // scalar: as written
	pairs  []pair // mapping, in the order of the document
	values []*node
}

type nodeKind int

const (
	scalar nodeKind = iota
	mapping
	sequence
)

type pair struct {
	key   string
	at    position
	value *node
}

// get returns the first value under key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// fields returns the keys of a mapping with their values; a value that is not there has none.
func (n *node) fields() []pair {
	if n == nil {
		return nil
	}
	return n.pairs
}

// find follows a path of keys as far as possible, and reports whether it exists.
func (n *node) find(path []string) (*node, bool) {
	for _, key := range path {
		next := n.get(key)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// with returns n with key set to value; an existing key keeps its place in the order.
func (n *node) with(key string, value *node) *node {
	next := &node{at: value.at, kind: mapping}
	if n != nil {
		next.at, next.pairs = n.at, slices.Clone(n.pairs)
	}
	for i := range next.pairs {
		if next.pairs[i].key == key {
			next.pairs[i] = pair{key, value.at, value}
			return next
		}
	}
	next.pairs = append(next.pairs, pair{key, value.at, value})
	return next
}

// without returns n without the keys that drop selects.
func (n *node) without(drop func(key string) bool) *node {
	next := &node{at: n.at, kind: mapping}
	for _, p := range n.pairs {
		if !drop(p.key) {
			next.pairs = append(next.pairs, p)
		}
	}
	return next
}

// nest returns mappings that contain only value, at path.
func nest(path []string, value *node) *node {
	for _, key := range slices.Backward(path) {
		value = (*node)(nil).with(key, value)
	}
	return value
}

// elements are those of a list; none for other values.
func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return slices.Clip(n.values)
}

func (n *node) number() (float64, bool) {
	switch v := n.value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// describe describes a value in a message.
func (n *node) describe() string {
	switch {
	case n.kind == mapping && len(n.pairs) == 0:
		return "an empty mapping"
	case n.kind == mapping:
		return "a mapping"
	case n.kind == sequence:
		return "a list"
	case n.value == nil:
		return "empty"
	}
	text := n.text
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	if _, ok := n.value.(string); ok {
		return strconv.Quote(text)
	}
	return text
}

// json returns the value as JSON. Templates in texts keep their quotes, which JSON would escape.
func (n *node) json() string {
	var b strings.Builder
	n.writeJSON(&b)
	return b.String()
}

func (n *node) writeJSON(to *strings.Builder) {
	switch n.kind {
	case mapping:
		to.WriteByte('{')
		for i, p := range n.pairs {
			if i > 0 {
				to.WriteByte(',')
			}
			to.WriteString(quotedJSON(p.key))
			to.WriteByte(':')
			p.value.writeJSON(to)
		}
		to.WriteByte('}')
	case sequence:
		to.WriteByte('[')
		for i, item := range n.values {
			if i > 0 {
				to.WriteByte(',')
			}
			item.writeJSON(to)
		}
		to.WriteByte(']')
	default:
		switch v := n.value.(type) {
		case string:
			to.WriteString(quotedJSON(v))
		default:
			text, err := json.Marshal(v) // a number, a boolean or null
			if err != nil {              // infinity
				text = []byte(quotedJSON(n.text))
			}
			to.Write(text)
		}
	}
}

var template = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// quotedJSON returns a JSON string whose templates are unchanged.
func quotedJSON(text string) string {
	quote := func(part string) string {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(part) // a string always has a form in JSON
		whole := strings.TrimSuffix(b.String(), "\n")
		return whole[1 : len(whole)-1]
	}
	var b strings.Builder
	last := 0
	for _, at := range template.FindAllStringIndex(text, -1) {
		b.WriteString(quote(text[last:at[0]]) + text[at[0]:at[1]])
		last = at[1]
	}
	return `"` + b.String() + quote(text[last:]) + `"`
}

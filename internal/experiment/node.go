package experiment

import "slices"

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

// merge merges over into base. Values of over win, and an alternative removes the others. Either
// may be nil.
func merge(s *valueType, base, over *node) *node {
	switch {
	case base == nil:
		return over
	case over == nil:
		return base
	case base.kind != mapping || over.kind != mapping || s == nil || s.kind != record:
		return over
	}
	merged := &node{at: over.at, kind: mapping, pairs: base.pairs}
	for _, p := range over.pairs {
		f := s.field(p.key)
		if f == nil {
			continue
		}
		if f.alternative {
			merged = merged.without(func(key string) bool { return key != p.key && s.alternative(key) })
		}
		merged = merged.with(p.key, merge(f.shape, merged.get(p.key), p.value))
	}
	return merged
}

// cleared removes from n what a new value at path would replace: the old value, a scalar on the
// path, and alternatives that it excludes. It also removes mappings that become empty; the result
// may be nil.
func cleared(s *valueType, n *node, path []string) *node {
	if n == nil || n.kind != mapping || s == nil || len(path) == 0 {
		return nil
	}
	f := s.field(path[0])
	if f == nil {
		return n
	}
	rest := &node{at: n.at, kind: mapping}
	for _, p := range n.pairs {
		switch {
		case p.key == path[0]:
			if p.value = cleared(f.shape, p.value, path[1:]); p.value == nil {
				continue
			}
		case f.alternative && s.alternative(p.key):
			continue
		}
		rest.pairs = append(rest.pairs, p)
	}
	if len(rest.pairs) == 0 {
		return nil
	}
	return rest
}

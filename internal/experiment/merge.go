package experiment

// merge merges over into base. Values of over win, and an alternative removes the others. Either
// may be nil.
func merge(typ *valueType, base, over *node) *node {
	switch {
	case base == nil:
		return over
	case over == nil:
		return base
	case base.kind != mapping || over.kind != mapping || typ == nil || typ.kind != record:
		return over
	}
	merged := &node{at: over.at, kind: mapping, pairs: base.pairs}
	for _, p := range over.pairs {
		f := typ.field(p.key)
		if f == nil {
			continue
		}
		if f.alternative {
			merged = merged.without(func(key string) bool { return key != p.key && typ.alternative(key) })
		}
		merged = merged.with(p.key, merge(f.typ, merged.get(p.key), p.value))
	}
	return merged
}

// cleared removes from n what a new value at path would replace: the old value, a scalar on the
// path, and alternatives that it excludes. It also removes mappings that become empty; the result
// may be nil.
func cleared(typ *valueType, n *node, path []string) *node {
	if n == nil || n.kind != mapping || typ == nil || len(path) == 0 {
		return nil
	}
	f := typ.field(path[0])
	if f == nil {
		return n
	}
	rest := &node{at: n.at, kind: mapping}
	for _, p := range n.pairs {
		switch {
		case p.key == path[0]:
			if p.value = cleared(f.typ, p.value, path[1:]); p.value == nil {
				continue
			}
		case f.alternative && typ.alternative(p.key):
			continue
		}
		rest.pairs = append(rest.pairs, p)
	}
	if len(rest.pairs) == 0 {
		return nil
	}
	return rest
}

package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cell is one point of the sweep: field path to value. Empty without a sweep.
type Cell map[string]any

// Key is equal for equal cells, even if JSON changed the types of one cell's numbers. Field
// paths are sorted.
func (c Cell) Key() string {
	if len(c) == 0 {
		return "{}"
	}
	key, err := json.Marshal(c)
	if err != nil {
		return fmt.Sprint(map[string]any(c))
	}
	return string(key)
}

// String formats the cell like --set: load.burst=300.
func (c Cell) String() string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s=%v", path, c[path]))
	}
	return strings.Join(parts, " ")
}

// InCell are values of one cell.
type InCell[T any] struct {
	Cell Cell
	All  []T
}

// ByCell groups values by their cells, in the order of the first value of each cell.
func ByCell[T any](all []T, cell func(T) Cell) (groups []InCell[T]) {
	place := map[string]int{}
	for _, v := range all {
		key := cell(v).Key()
		i, known := place[key]
		if !known {
			i, place[key] = len(groups), len(groups)
			groups = append(groups, InCell[T]{Cell: cell(v)})
		}
		groups[i].All = append(groups[i].All, v)
	}
	return groups
}

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

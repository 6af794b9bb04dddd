package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key is the same for equal cells, also when one of them came back from JSON and
// its numbers changed their type. It sorts by field path.
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

// String is the cell as --set would write it: load.burst=300.
func (c Cell) String() string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s=%v", path, c[path]))
	}
	return strings.Join(parts, " ")
}

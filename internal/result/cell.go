package result

import (
	"encoding/json"
	"fmt"
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

package experiment

import (
	"reflect"
	"testing"
)

// The limits of a memory limit are those of the field server.memory.
func TestMemoryIsParsedAsTheFieldIs(t *testing.T) {
	field, _ := reflect.TypeFor[Server]().FieldByName("Memory")
	for _, limit := range []string{field.Tag.Get("min"), field.Tag.Get("max")} {
		if _, err := ParseMemory(limit); err != nil {
			t.Errorf("%s: %v", limit, err)
		}
	}
	for _, wrong := range []string{"7Mi", "1025Gi", "1.5G"} {
		if size, err := ParseMemory(wrong); err == nil {
			t.Errorf("%s is %v, want an error", wrong, size)
		}
	}
}

package failure

import (
	"maps"
	"slices"
)

// A server may end each call with another code. Calls with further codes count as those of OtherCodes.
const (
	MaxCodes   = 100
	OtherCodes = "OTHERS"
)

// BoundedCode returns the code, or [OtherCodes] for a new one of too many.
func BoundedCode[V any](known map[string]V, code string) string {
	if _, ok := known[code]; !ok && len(known) >= MaxCodes {
		return OtherCodes
	}
	return code
}

// AddCounts adds counts of failed calls by code. If there are too many codes, those that come last in the alphabet count
// as [OtherCodes].
func AddCounts(to, more map[string]uint64) {
	for _, code := range slices.Sorted(maps.Keys(more)) {
		to[BoundedCode(to, code)] += more[code]
	}
}

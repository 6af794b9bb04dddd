package lab

import (
	"slices"
	"testing"
)

func TestMemoryReadingsAreThinnedToEverySecondOne(t *testing.T) {
	if kept := everySecond([]uint64{1, 2, 3, 4, 5}); !slices.Equal(kept, []uint64{1, 3, 5}) {
		t.Errorf("kept %v", kept)
	}
}

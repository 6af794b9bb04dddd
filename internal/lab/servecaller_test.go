package lab

import (
	"testing"
	"time"
)

func TestTheSameSetToldAgainIsNoNews(t *testing.T) {
	var n resolverLog
	at := time.Now()
	for range 100_000 { // a channel per call
		n.add(at, []string{"b", "a"})
	}
	n.add(at, []string{"a"})
	n.add(at, []string{"a", "b"})
	if told := n.all(); len(told) != 3 {
		t.Errorf("%d sets are kept, want 3", len(told))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"rpclab/internal/result"
)

func TestAnInterruptHidesNoOtherError(t *testing.T) {
	full := fmt.Errorf("%w runs.db: cannot finish run 1: the disk is full", result.ErrStore)
	for _, c := range []struct{ err, want error }{
		{nil, nil}, {context.Canceled, nil}, {fmt.Errorf("round 1: %w", context.Canceled), nil}, {full, full},
		{errors.Join(errors.Join(context.Canceled, nil), full), full},
	} {
		if got := withoutInterrupt(c.err); fmt.Sprint(got) != fmt.Sprint(c.want) || !errors.Is(got, c.want) {
			t.Errorf("%v without the interrupt is %v, want %v", c.err, got, c.want)
		}
	}
}

package route

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A name server that does not know all backends yet is asked again, but not for ever.
func TestAddressesOfAllBackendsAreAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, last int // of backends, and the addresses after the first two answers
		asked        int // times; 0: until the time is over
	}{
		"not known":     {0, 0, -1},
		"all":           {3, 3, 3},
		"more":          {3, 5, 3},
		"one too few":   {3, 2, 0},
		"only an error": {1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			asked := 0
			awaitAddresses(ctx, c.wanted, func(context.Context) (int, error) {
				if asked++; asked < 3 || c.last == 0 {
					return 0, errors.New("no such host")
				}
				return c.last, nil
			})
			switch {
			case c.asked == 0 && ctx.Err() == nil:
				t.Error("it returned early")
			case c.asked != 0 && asked != max(c.asked, 0):
				t.Errorf("asked %d times, want %d", asked, max(c.asked, 0))
			}
		})
	}
}

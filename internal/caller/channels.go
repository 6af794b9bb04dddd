package caller

import "fmt"

// Channels say how calls share channels.
type Channels struct {
	Mode string `json:"mode"`           // [PerCall], [Shared] or [Pool]
	Pool int    `json:"pool,omitempty"` // how many, taken in turn
}

// The ways in which calls share channels.
const (
	PerCall = "per-call" // each call opens a channel and closes it
	Shared  = "shared"   // one channel carries every call
	Pool    = "pool"     // several channels, taken in turn
)

// Count is how many channels stay open: 0 for one per call.
func (c Channels) Count() (int, error) {
	switch {
	case c.Mode == PerCall:
		return 0, nil
	case c.Mode == Shared:
		return 1, nil
	case c.Mode == Pool && c.Pool > 0:
		return c.Pool, nil
	}
	return 0, fmt.Errorf("channels %+v are none of %s, %s, and %s of at least 1", c, PerCall, Shared, Pool)
}

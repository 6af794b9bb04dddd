package caller

import (
	"context"
	"fmt"
)

// Channels say how calls share channels.
type Channels struct {
	Mode string `json:"mode"`           // [PerCall], [PerUser], [Shared] or [Pool]
	Pool int    `json:"pool,omitempty"` // how many, taken in turn
}

// The ways in which calls share channels.
const (
	PerCall = "per-call" // each call opens a channel and closes it
	PerUser = "per-user" // each user of a closed pace has a channel of his own for the whole load
	Shared  = "shared"   // one channel carries every call
	Pool    = "pool"     // several channels, taken in turn
)

// Count is how many channels stay open from the start: 0 for one per call. A caller that can
// keep one for each user looks for that first: here it is an error.
func (c Channels) Count() (int, error) {
	switch {
	case c.Mode == PerCall:
		return 0, nil
	case c.Mode == Shared:
		return 1, nil
	case c.Mode == Pool && c.Pool > 0:
		return c.Pool, nil
	case c.Mode == PerUser:
		return 0, fmt.Errorf("this caller keeps no channel for each user: take %s, or %s", Shared, PerCall)
	}
	return 0, fmt.Errorf("channels %+v are none of %s, %s, and %s of at least 1", c, PerCall, Shared, Pool)
}

type userKey struct{}

// withUser is the context of a user's calls.
func withUser(ctx context.Context, user int) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// User is whose call it is, by its context: the number (from 0) of a user of a closed pace; not
// ok: it is no user's.
func User(ctx context.Context) (user int, ok bool) {
	user, ok = ctx.Value(userKey{}).(int)
	return user, ok
}

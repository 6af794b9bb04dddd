package caller

import (
	"context"
	"fmt"
)

// Channels say how calls share channels.
type Channels struct {
	Mode string `json:"mode"`           // [PerCall], [PerUser], [Shared] or [Pool]
	Pool int    `json:"pool,omitempty"` // number of channels, used in turn
}

// Modes of sharing channels.
const (
	PerCall = "per-call" // each call opens a channel and closes it
	PerUser = "per-user" // each user of a closed pace has one channel for the whole load
	Shared  = "shared"   // one channel carries every call
	Pool    = "pool"     // several channels, used in turn
)

// Count returns how many channels a caller opens at the start: 0 for a channel per call. It returns
// an error for PerUser: a caller that supports PerUser does not call Count for that mode.
func (c Channels) Count() (int, error) {
	switch {
	case c.Mode == PerCall:
		return 0, nil
	case c.Mode == Shared:
		return 1, nil
	case c.Mode == Pool && c.Pool > 0:
		return c.Pool, nil
	case c.Mode == PerUser:
		return 0, fmt.Errorf("this caller does not support channel mode %s: use %s or %s", PerUser, Shared, PerCall)
	}
	return 0, fmt.Errorf("channels %+v: use %s, %s, or %s with at least 1 channel", c, PerCall, Shared, Pool)
}

type userKey struct{}

// withUser returns a context for the calls of a user.
func withUser(ctx context.Context, user int) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// UserOf returns the number (from 0) of the closed-pace user that makes the call; ok is false
// for calls of no user.
func UserOf(ctx context.Context) (user int, ok bool) {
	user, ok = ctx.Value(userKey{}).(int)
	return user, ok
}

package local

import (
	"context"
	"errors"
	"time"
)

var errNotYet = errors.New("this fault is not there yet")

// Stop ends the n oldest ready backends gracefully; each is replaced.
func (d *deployment) Stop(context.Context, int) ([]string, error) { return nil, errNotYet }

// Roll replaces every backend.
func (d *deployment) Roll(context.Context) ([]string, error) { return nil, errNotYet }

// Fail makes backends answer with an error.
func (d *deployment) Fail(context.Context, int, string) ([]string, error) { return nil, errNotYet }

// Flap turns the health of backends to and fro.
func (d *deployment) Flap(context.Context, int, time.Duration) ([]string, error) {
	return nil, errNotYet
}

// Cut cuts connections of backends.
func (d *deployment) Cut(context.Context, int, bool) ([]string, error) { return nil, errNotYet }

// MisleadDNS makes the name server slow, or lie.
func (d *deployment) MisleadDNS(time.Duration, bool) error { return errNotYet }

// Recover ends all faults.
func (d *deployment) Recover(context.Context) error { return errNotYet }

// Served is how many calls each backend began.
func (d *deployment) Served() map[string]uint64 { return nil }

package cluster

import (
	"context"
	"fmt"
	"time"
)

// AsItIs is the part of a [Deployment] of a service that rpclab did not start: it refuses every action, and knows
// nothing of the usage of the backends.
type AsItIs struct {
	Name  string // of the service
	Field string // of the service file that says where it runs: server.addresses
}

func (a AsItIs) refuse(action string) ([]string, error) {
	return nil, fmt.Errorf("%s %s: rpclab did not start it (%s)", action, a.Name, a.Field)
}

// Scale and the other actions on backends return an error.
func (a AsItIs) Scale(context.Context, int) ([]string, error) { return a.refuse("scale") }

// Kill returns an error.
func (a AsItIs) Kill(context.Context, int) ([]string, error) { return a.refuse("kill") }

// Pause returns an error.
func (a AsItIs) Pause(context.Context, int) ([]string, error) { return a.refuse("pause") }

// Resume has nothing to resume.
func (a AsItIs) Resume(context.Context) error { return nil }

// Stop returns an error.
func (a AsItIs) Stop(context.Context, int) ([]string, error) { return a.refuse("stop") }

// Rollout returns an error.
func (a AsItIs) Rollout(context.Context, *Program) ([]string, error) { return a.refuse("roll out") }

// Slow returns an error.
func (a AsItIs) Slow(context.Context, int, time.Duration, float64) ([]string, error) {
	return a.refuse("slow")
}

// Fail returns an error.
func (a AsItIs) Fail(context.Context, int, string, float64) ([]string, error) {
	return a.refuse("fail")
}

// Flap returns an error.
func (a AsItIs) Flap(context.Context, int, time.Duration) ([]string, error) { return a.refuse("flap") }

// Cut returns an error.
func (a AsItIs) Cut(context.Context, int, bool) ([]string, error) { return a.refuse("cut") }

// SetDNSFault returns an error.
func (a AsItIs) SetDNSFault(time.Duration, bool) error {
	_, err := a.refuse("delay the DNS answers of")
	return err
}

// Recover has nothing to end.
func (a AsItIs) Recover(context.Context) error { return nil }

// CallCounts is not known.
func (a AsItIs) CallCounts() map[string]uint64 { return nil }

// ResetUsage has nothing to reset: Usage is not known.
func (a AsItIs) ResetUsage() error { return nil }

// Usage is not known.
func (a AsItIs) Usage() map[string]Usage { return nil }

// Failures is empty: rpclab did not start what may have exited.
func (a AsItIs) Failures() []string { return nil }

package local

import (
	"context"
	"fmt"
	"slices"
)

// Roll replaces every backend in the background, as a Deployment with maxSurge 1 and
// maxUnavailable 0 does: one more than wanted is started; once it is ready, an old one is
// told to go, and the next is started without waiting for that one's end.
func (d *deployment) Roll(context.Context) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling {
		return nil, fmt.Errorf("roll %s: it is under way already", d.spec.Name)
	}
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	d.rolling = true
	old := d.active()
	hit := identities(old)
	d.tasks.Go(func() {
		err := d.roll(old)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.rolling = false
		if err != nil && d.ctx.Err() == nil {
			d.books.losses = append(d.books.losses, fmt.Sprintf("the roll of %s ended before all were replaced: %v", d.spec.Name, err))
		}
	})
	return hit, nil
}

// roll replaces the old backends. Those that ended before their turn are replaced already.
func (d *deployment) roll(old []*replica) error {
	for {
		old = slices.DeleteFunc(old, (*replica).retired)
		if len(old) == 0 {
			return nil
		}
		ready := make(chan error, 1)
		if err := d.add(func(err error) { ready <- err }); err != nil {
			return err
		}
		if err := <-ready; err != nil {
			return err
		}
		d.mu.Lock()
		old[0].sampleMemory()
		enough := len(d.active()) > d.wanted // false: one ended meanwhile
		d.mu.Unlock()
		if enough {
			d.dismiss(old[0])
		}
	}
}

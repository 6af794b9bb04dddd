//go:build !linux

package process

import "errors"

// InOwnNetwork says whether this process runs in a network of its own: only on Linux.
func InOwnNetwork() bool { return false }

// OwnNetwork moves this program into a network of its own, on Linux.
func OwnNetwork() error {
	return errors.New("only Linux gives a run a network of its own: run it there")
}

//go:build !linux

package process

import "errors"

// NetworkIsolated returns false: only Linux has network namespaces.
func NetworkIsolated() bool { return false }

// IsolateNetwork fails: only Linux has network namespaces.
func IsolateNetwork() error {
	return errors.New("a run with its own network needs Linux")
}

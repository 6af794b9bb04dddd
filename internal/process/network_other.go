//go:build !linux

package process

import "errors"

// NetworkIsolated returns false: only Linux has network namespaces.
func NetworkIsolated() bool { return false }

// IsolateNetwork fails: only Linux has network namespaces.
func IsolateNetwork() error {
	return errors.New("a network of its own needs Linux: this system has no network namespaces")
}

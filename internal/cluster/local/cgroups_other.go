//go:build !linux

package local

// cgroups exist on Linux only.
type cgroups struct{}

func (*cgroups) close() {}

func removeStale() {}

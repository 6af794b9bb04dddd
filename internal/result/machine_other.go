//go:build !linux

package result

func describe(*Machine) {}

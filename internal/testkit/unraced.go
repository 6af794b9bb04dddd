//go:build !race

package testkit

const share = 1

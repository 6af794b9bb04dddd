//go:build unix && !linux

package process

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startOn cannot choose processors here.
func startOn(_ []int, start func() error) error { return start() }

//go:build !linux

package netcut

import (
	"errors"
	"syscall"
)

func dropArriving(syscall.Conn) error { return errors.ErrUnsupported }

func passArriving(syscall.Conn) error { return nil }

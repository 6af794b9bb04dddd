package netcut

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// dropArriving makes the kernel drop every packet that arrives for a socket, before TCP sees it. The filter of a
// listener applies to clients that connect. See socket(7), SO_ATTACH_FILTER.
func dropArriving(socket syscall.Conn) error {
	filter := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}} // keeps 0 bytes
	return control(socket, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
	})
}

// passArriving ends dropArriving.
func passArriving(socket syscall.Conn) error {
	return control(socket, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); !errors.Is(err, unix.ENOENT) { // there is none
			return err
		}
		return nil
	})
}

func control(socket syscall.Conn, set func(fd int) error) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = set(int(fd)) }); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("filter the packets of a socket: %w", failed)
	}
	return nil
}

package settings

import (
	"fmt"
	"os"
	"syscall"
)

// ipLocalPortRange is IP_LOCAL_PORT_RANGE of ip(7), since Linux 6.3: the lowest port in the lower half of 32 bits, the
// highest in the upper half.
const ipLocalPortRange = 51

// limitLocalPorts limits the local ports that connect chooses from.
func limitLocalPorts(fd, first, last int) error {
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, ipLocalPortRange, last<<16|first); err != nil {
		return fmt.Errorf("limit local ports, which needs Linux 6.3: %w", os.NewSyscallError("setsockopt", err))
	}
	return nil
}

package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownNetwork is the variable in which a program that started again in a network of its own
// finds which one that is.
const ownNetwork = "RPCLAB_OWN_NETWORK"

// namespace is the network of this process: net:[4026531840].
func namespace() (string, error) { return os.Readlink("/proc/self/ns/net") }

// InOwnNetwork says whether this process runs in the network that [OwnNetwork] made, with
// nobody else but its own children.
func InOwnNetwork() bool {
	here, err := namespace()
	return err == nil && os.Getenv(ownNetwork) == here
}

// OwnNetwork moves this program into a network of its own in which there is only loopback:
// it starts again, from the beginning, as the same process with the same arguments and open
// standard streams, and finds [InOwnNetwork] true. So it returns only when it is there
// already, or fails, as it does for who is not root.
//
// The kernel takes such a network away, with whatever was done to it, when the last process
// in it ends, by whatever means (network_namespaces(7)).
func OwnNetwork() error {
	if InOwnNetwork() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A namespace is a thread's. execve(2) ends the other threads and goes on in this one.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w; this needs root: run it with sudo, or as 'unshare --map-root-user rpclab …' where users may have namespaces", err)
		}
		return fmt.Errorf("make a network of its own for this run: %w", err)
	}
	// From here on the thread is of no other use: it stays locked, and ends with its goroutine.
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raise loopback in the network of this run: %w", err)
	}
	here, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	if err := os.Setenv(ownNetwork, here); err != nil {
		return err
	}
	return fmt.Errorf("start %s again: %w", self, syscall.Exec(self, os.Args, os.Environ()))
}

// raiseLoopback does what `ip link set lo up` does.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}

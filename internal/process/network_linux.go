package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownNetwork is the environment variable with the network namespace of a program that
// [IsolateNetwork] started again.
const ownNetwork = "RPCLAB_OWN_NETWORK"

// namespace returns the network namespace of this process: net:[4026531840].
func namespace() (string, error) { return os.Readlink("/proc/self/ns/net") }

// NetworkIsolated reports whether this process runs in the network namespace that [IsolateNetwork]
// created, which only its children share.
func NetworkIsolated() bool {
	here, err := namespace()
	return err == nil && os.Getenv(ownNetwork) == here
}

// IsolateNetwork moves this program into a new network namespace that has loopback only. It
// executes the program again as the same process, with the same arguments and standard streams;
// [NetworkIsolated] is true then. IsolateNetwork therefore returns only if the program is isolated
// already, or with an error, for example for a user who is not root.
//
// The kernel removes the namespace with all changes to it when its last process ends
// (network_namespaces(7)).
func IsolateNetwork() error {
	if NetworkIsolated() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A namespace belongs to a thread. execve(2) ends the other threads and continues in this one.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w; this needs root: run it with sudo, or as 'unshare --map-root-user rpclab …' where users may create namespaces", err)
		}
		return fmt.Errorf("create a network namespace for this run: %w", err)
	}
	// The thread stays locked and ends with its goroutine.
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("bring up loopback in the network namespace of this run: %w", err)
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

// raiseLoopback does the same as `ip link set lo up`.
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

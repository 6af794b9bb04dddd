package wire

import "errors"

// errWouldBlock means that there is nothing to read now.
var errWouldBlock = errors.New("would block")

// transport carries a connection's bytes.
type transport interface {
	// write writes what it can without blocking. The core is notified when more can be written.
	write(p []byte) (int, error)
	close()
}

const readBuffer = 64 << 10

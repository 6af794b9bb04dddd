package wiretest

import (
	"net"
	"time"
)

// output is how a server's bytes reach the socket: at once, held until the server has
// no more to say, or in pieces.
type output struct {
	conn  net.Conn
	hold  bool // until flush
	piece int  // bytes a write; 0: each write as it is
	// split cuts what follows begin at one byte; see cutAt.
	split bool
	cut   int
	held  []byte
}

func (o *output) Write(b []byte) (int, error) {
	o.held = append(o.held, b...)
	if !o.hold && !o.split {
		return len(b), o.flush()
	}
	return len(b), nil
}

// pause lies between two pieces, so that the client's read is likely to end there.
// Nothing depends on it.
const pause = 100 * time.Microsecond

func (o *output) flush() error {
	held := o.held
	o.held = nil
	if o.split && o.cut < len(held) {
		if _, err := o.conn.Write(held[:o.cut]); err != nil {
			return err
		}
		held = held[o.cut:]
		time.Sleep(pause)
	}
	for o.piece > 0 && len(held) > o.piece {
		if _, err := o.conn.Write(held[:o.piece]); err != nil {
			return err
		}
		held = held[o.piece:]
	}
	if len(held) == 0 {
		return nil
	}
	_, err := o.conn.Write(held)
	return err
}

package faultproxy

import "encoding/binary"

// prefixLength is the length of the prefix of a gRPC message: a flag and the length of the message.
const prefixLength = 5

// messages finds where the gRPC messages of a request begin in its DATA.
type messages struct {
	any    bool // has begun
	prefix [prefixLength]byte
	known  int    // bytes of prefix
	rest   uint32 // bytes of the present message that are to come
}

// begun reads further data, and returns the number of messages that begin in it.
func (m *messages) begun(data []byte) (n int) {
	for len(data) > 0 {
		if m.rest > 0 {
			part := min(m.rest, uint32(len(data)))
			m.rest, data = m.rest-part, data[part:]
			continue
		}
		if m.known == 0 {
			m.any = true
			n++
		}
		part := copy(m.prefix[m.known:], data)
		m.known, data = m.known+part, data[part:]
		if m.known == prefixLength {
			m.known, m.rest = 0, binary.BigEndian.Uint32(m.prefix[1:])
		}
	}
	return n
}

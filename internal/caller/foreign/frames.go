package foreign

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire/h2"
)

// The types of frames.
const (
	ready   = 'R'
	calls   = 'C'
	backend = 'B'
	sample  = 'S'
	ended   = 'E'
	unable  = 'X'
)

const (
	// longest is how long a frame may be, bytes.
	longest = 16 << 20
	// each is how long the record of a call is.
	each = 40
	// wrong is the code of a call whose answer was not the right one.
	wrong = 255
)

// frame reads one. What the program cannot do is an error.
func (s *session) frame() (kind byte, text []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.reports, head[:]); err != nil {
		return 0, nil, s.died(err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > longest {
		return 0, nil, s.died(fmt.Errorf("it wrote a frame of %d bytes", length))
	}
	text = make([]byte, length)
	if _, err := io.ReadFull(s.reports, text); err != nil {
		return 0, nil, s.died(err)
	}
	if head[0] == unable {
		return 0, nil, fmt.Errorf("%s: %s", s.who, text)
	}
	return head[0], text, nil
}

// record takes calls into the shards.
func (s *session) record(shards *measure.Shards, records []byte, start time.Time) error {
	if len(records)%each != 0 {
		return fmt.Errorf("%d bytes are no calls of %d", len(records), each)
	}
	since := func(b []byte) time.Duration {
		return time.Duration(int64(binary.LittleEndian.Uint64(b)) - start.UnixNano())
	}
	for ; len(records) > 0; records = records[each:] {
		c := measure.Call{Due: since(records[8:]), Sent: since(records[16:]), Done: since(records[24:]), Code: measure.OK}
		code, number := records[32], int(binary.LittleEndian.Uint16(records[33:]))
		if c.Sent < c.Due || c.Done < c.Sent {
			return fmt.Errorf("a call due at %v, sent at %v and answered at %v", c.Due, c.Sent, c.Done)
		}
		switch {
		case code == wrong:
			c.Code, c.Message = "DATA_LOSS", s.samples[code]
		case code != 0:
			c.Code, c.Message = h2.Status{Code: uint32(code)}.Name(), s.samples[code]
		case number >= len(s.backends):
			return fmt.Errorf("backend %d, of %d that it told", number, len(s.backends))
		default:
			c.Backend = s.backends[number]
		}
		shards.Record(0, c)
	}
	return nil
}

func (s *session) remember(text []byte) error {
	var first struct {
		Code    uint8
		Message string
	}
	err := json.Unmarshal(text, &first)
	s.samples[first.Code] = first.Message
	return err
}

// load is the order for one, a line of JSON.
type load struct {
	At     int64       `json:"at_ns"`
	Closed *closedLoad `json:"closed,omitempty"`
	Burst  *burstLoad  `json:"burst,omitempty"`
	Open   *openLoad   `json:"open,omitempty"`
}

type closedLoad struct {
	Users    int           `json:"users"`
	Calls    uint64        `json:"calls"`
	Think    time.Duration `json:"think_ns"`
	Duration time.Duration `json:"duration_ns"`
}

type burstLoad struct {
	Calls int `json:"calls"`
}

type openLoad struct {
	Rate     float64       `json:"rate"`
	Duration time.Duration `json:"duration_ns"`
}

// orderOf says a pace as the contract does.
func (s *session) orderOf(p pace.Pace, start time.Time) (l load, err error) {
	l.At = start.UnixNano()
	switch p := p.(type) {
	case pace.Closed:
		l.Closed = &closedLoad{p.Users, p.Calls, p.Think, p.Duration}
	case pace.Burst:
		if s.pingPong { // each call on a stream of its own
			l.Closed = &closedLoad{Users: p.Calls, Calls: uint64(p.Calls)}
		} else {
			l.Burst = &burstLoad{p.Calls}
		}
	case pace.Rate:
		if p.Poisson || p.Of > 1 {
			return l, errors.New("it makes calls at an even rate, and shares none")
		}
		l.Open = &openLoad{p.PerSecond, p.Duration}
	default:
		return l, fmt.Errorf("it knows no pace such as %T", p)
	}
	return l, nil
}

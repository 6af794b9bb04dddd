package external

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/stdio"
	"rpclab/internal/wire/h2"
)

// Types of frames.
const (
	frameReady   = 'R'
	frameCalls   = 'C'
	frameBackend = 'B'
	frameSample  = 'S'
	frameEnd     = 'E'
	frameError   = 'X'
)

const (
	// maxFrameBytes is the longest frame accepted.
	maxFrameBytes = 16 << 20
	// callRecordBytes is the size of one call in a frame of calls.
	callRecordBytes = 40
	// codeWrongAnswer marks a call with a wrong answer.
	codeWrongAnswer = 255
)

// readFrame reads one frame. A frame in which the program reports a failure is an error.
func (s *session) readFrame() (kind byte, text []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.frames, head[:]); err != nil {
		return 0, nil, stdio.Exited(s.name, s.program, err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > maxFrameBytes {
		return 0, nil, stdio.Exited(s.name, s.program, fmt.Errorf("it sent a frame of %d bytes", length))
	}
	text = make([]byte, length)
	if _, err := io.ReadFull(s.frames, text); err != nil {
		return 0, nil, stdio.Exited(s.name, s.program, err)
	}
	if head[0] == frameError {
		return 0, nil, fmt.Errorf("%s: %s", s.name, text)
	}
	return head[0], text, nil
}

// recordCalls records the calls of a frame.
func (s *session) recordCalls(shards *measure.Shards, records []byte, start time.Time) error {
	if len(records)%callRecordBytes != 0 {
		return fmt.Errorf("a frame of %d bytes is not a multiple of %d", len(records), callRecordBytes)
	}
	since := func(b []byte) time.Duration {
		return time.Duration(int64(binary.LittleEndian.Uint64(b)) - start.UnixNano())
	}
	for ; len(records) > 0; records = records[callRecordBytes:] {
		c := measure.Call{Due: since(records[8:]), Sent: since(records[16:]), Done: since(records[24:]), Code: measure.OK}
		code, number := records[32], int(binary.LittleEndian.Uint16(records[33:]))
		if c.Sent < c.Due || c.Done < c.Sent {
			return fmt.Errorf("a call was due at %v, sent at %v and answered at %v", c.Due, c.Sent, c.Done)
		}
		switch {
		case code == codeWrongAnswer:
			c.Code, c.Message = caller.DataLoss, s.samples[code]
		case code != 0:
			c.Code, c.Message = h2.Status{Code: uint32(code)}.Name(), s.samples[code]
		case number >= len(s.backends):
			return fmt.Errorf("unknown backend %d of %d", number, len(s.backends))
		default:
			c.Backend = s.backends[number]
		}
		shards.Record(0, c)
	}
	return nil
}

func (s *session) keepSample(text []byte) error {
	var first struct {
		Code    uint8
		Message string
	}
	err := json.Unmarshal(text, &first)
	s.samples[first.Code] = first.Message
	return err
}

// load is the line of JSON that starts a load.
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

// loadRequest translates a pace into the contract's form.
func (s *session) loadRequest(p pace.Pace, start time.Time) (l load, err error) {
	l.At = start.UnixNano()
	switch p := p.(type) {
	case pace.Closed:
		l.Closed = &closedLoad{p.Users, p.Calls, p.Think, p.Duration}
	case pace.Burst:
		if s.pingPong { // each call on its own stream
			l.Closed = &closedLoad{Users: p.Calls, Calls: uint64(p.Calls)}
		} else {
			l.Burst = &burstLoad{p.Calls}
		}
	case pace.Rate:
		if p.Poisson || p.Sharers > 1 {
			return l, errors.New("it supports only constant rates that no other caller shares")
		}
		l.Open = &openLoad{p.PerSecond, p.Duration}
	default:
		return l, fmt.Errorf("it does not support the pace %T", p)
	}
	return l, nil
}

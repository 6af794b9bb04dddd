package external

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
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
	// codeWrongResponse marks a call with a wrong response.
	codeWrongResponse = 255
)

// session is a running program.
type session struct {
	name     string
	late     time.Duration
	program  *process.Process
	stdout   io.Reader // of the program; frames reads it
	requests *json.Encoder
	frames   *bufio.Reader
	pingPong int              // streams of a load whose messages wait for the responses before them; 0: no such streams
	backends []string         // indexed by number
	samples  map[uint8]string // first message of each code in this load
}

// exited kills a program that does not work as expected and returns the error.
func (s *session) exited(cause error) error {
	s.discardOutput()
	return stdio.Exited(s.name, s.program, cause)
}

// discardOutput reads the rest of the output, which has no other reader. The program ends only when all of it is read.
func (s *session) discardOutput() {
	go func() { _, _ = io.Copy(io.Discard, s.stdout) }()
}

// readFrame reads one frame. A frame in which the program reports a failure is an error.
func (s *session) readFrame() (kind byte, text []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(s.frames, head[:]); err != nil {
		return 0, nil, s.exited(err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > maxFrameBytes {
		return 0, nil, s.exited(fmt.Errorf("the program sent a frame of %d bytes, but the limit is %d", length, maxFrameBytes))
	}
	text = make([]byte, length)
	if _, err := io.ReadFull(s.frames, text); err != nil {
		return 0, nil, s.exited(err)
	}
	if head[0] == frameError {
		return 0, nil, fmt.Errorf("%s: %s", s.name, text)
	}
	return head[0], text, nil
}

// clockStep is how much later than now the program may write that a call was answered: the machine's clock can be
// adjusted.
const clockStep = time.Second

// recordCalls records the calls of a frame.
func (s *session) recordCalls(shards *measure.Shards, records []byte, start time.Time) error {
	if len(records)%callRecordBytes != 0 {
		return fmt.Errorf("a frame of %d bytes is not a multiple of %d", len(records), callRecordBytes)
	}
	since := func(b []byte) time.Duration {
		return time.Duration(int64(binary.LittleEndian.Uint64(b)) - start.UnixNano())
	}
	now := time.Duration(time.Now().UnixNano() - start.UnixNano())
	for ; len(records) > 0; records = records[callRecordBytes:] {
		call := measure.Call{Due: since(records[8:]), Sent: since(records[16:]), Done: since(records[24:]), Code: measure.OK}
		code, number := records[32], int(binary.LittleEndian.Uint16(records[33:]))
		if call.Due < 0 || call.Sent < call.Due || call.Done < call.Sent {
			return fmt.Errorf("a call was due at %v, sent at %v and answered at %v", call.Due, call.Sent, call.Done)
		}
		if call.Done > now+clockStep {
			return fmt.Errorf("a call was answered at %v, which is after now, %v", call.Done, now)
		}
		switch {
		case code == codeWrongResponse:
			call.Code, call.Message = caller.DataLoss, s.firstMessage(code)
		case code != 0:
			call.Code, call.Message = h2.Status{Code: uint32(code)}.Name(), s.firstMessage(code)
		case number >= len(s.backends):
			return fmt.Errorf("unknown backend %d of %d", number, len(s.backends))
		default:
			call.Backend = s.backends[number]
		}
		shards.Record(0, call)
	}
	return nil
}

// firstMessage returns the first message of a code for the first call with that code. The messages of other calls are not
// known.
func (s *session) firstMessage(code uint8) string {
	message := s.samples[code]
	delete(s.samples, code)
	return message
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

// loadLine is the line of JSON that starts a load.
type loadLine struct {
	At     int64       `json:"at_ns"`
	Closed *closedLoad `json:"closed,omitempty"`
	Burst  *burstLoad  `json:"burst,omitempty"`
	Open   *openLoad   `json:"open,omitempty"`
}

type closedLoad struct {
	Users    int           `json:"users"`
	Calls    uint64        `json:"calls"`
	Think    time.Duration `json:"think_ns"`
	Ramp     time.Duration `json:"ramp_ns,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

type burstLoad struct {
	Calls int `json:"calls"`
}

type openLoad struct {
	Rate     float64       `json:"rate"`
	First    time.Duration `json:"first_ns,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// loadRequest translates a pace into the contract's form.
func (s *session) loadRequest(plan pace.Pace, start time.Time) (line loadLine, err error) {
	line.At = start.UnixNano()
	switch plan := plan.(type) {
	case pace.Closed:
		line.Closed = &closedLoad{plan.Users, plan.Calls, plan.Think, plan.Ramp, plan.Duration}
	case pace.Burst:
		if s.pingPong > 0 { // a warm-up: a stream may occupy a worker of the server until it ends, so more would wait
			line.Closed = &closedLoad{Users: min(s.pingPong, plan.Calls), Calls: uint64(plan.Calls)}
		} else {
			line.Burst = &burstLoad{plan.Calls}
		}
	case pace.Rate:
		if plan.Poisson {
			return line, errors.New("callers in other languages support only constant rates")
		}
		first, _ := plan.Next(0, 0)
		line.Open = &openLoad{plan.PerSecond / float64(max(plan.Sharers, 1)), first, plan.Duration}
	default:
		return line, fmt.Errorf("callers in other languages do not support the pace %T", plan)
	}
	return line, nil
}

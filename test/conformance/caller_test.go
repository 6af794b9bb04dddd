package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"rpclab/internal/language"
	"rpclab/internal/process"
)

// calling is a running caller program in another language.
type calling struct {
	p      *process.Process
	frames *io.PipeReader
	named  []string // the backends that it has named
}

// fields are the JSON fields of a job or a load.
type fields = map[string]any

// called is the record of a call in a frame.
type called struct {
	N                   uint64
	Due, Sent, Answered int64
	Code                uint8
	Backend             uint16
	_                   [5]byte
}

// loaded is everything that the program reports on a load.
type loaded struct {
	calls   []called
	samples map[int]string
	cpu     int64
}

// callsFor starts a caller with a job. It must exit within two minutes.
func callsFor(t *testing.T, command []string, line any) *calling {
	t.Helper()
	text, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	frames, out := io.Pipe()
	p, err := process.Start(process.Spec{Args: append(command[:len(command):len(command)], "caller"), Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, p.Kill)
	gone := make(chan struct{})
	go func() {
		<-p.Done()
		out.Close()
		close(gone)
	}()
	t.Cleanup(func() {
		late.Stop()
		frames.Close()
		p.Kill()
		<-gone
		if t.Failed() {
			t.Logf("its last lines:\n%s", p.Log())
		}
	})
	c := &calling{p: p, frames: frames}
	c.say(t, text)
	return c
}

func (c *calling) say(t *testing.T, line []byte) {
	t.Helper()
	if _, err := fmt.Fprintf(c.p.Stdin, "%s\n", line); err != nil {
		t.Fatal(err)
	}
}

// frame reads the next frame.
func (c *calling) frame(t *testing.T) (kind byte, payload []byte) {
	t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(c.frames, head[:]); err != nil {
		t.Fatalf("the caller wrote no further frame: %v", err)
	}
	payload = make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(c.frames, payload); err != nil {
		t.Fatalf("a frame %c is truncated: %v", head[0], err)
	}
	return head[0], payload
}

// ready waits for the frame that says that the caller is ready.
func (c *calling) ready(t *testing.T) *calling {
	t.Helper()
	if kind, payload := c.frame(t); kind != 'R' || len(payload) > 0 {
		t.Fatalf("the first frame is %c %q, want R", kind, payload)
	}
	return c
}

// load sends a load and reads its calls.
func (c *calling) load(t *testing.T, l fields) loaded {
	t.Helper()
	line, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	c.say(t, line)
	of := loaded{samples: map[int]string{}}
	for {
		switch kind, payload := c.frame(t); kind {
		case 'C':
			calls := make([]called, len(payload)/40)
			if n, err := binary.Decode(payload, binary.LittleEndian, calls); n != len(payload) || err != nil {
				t.Fatalf("%d of %d bytes of calls: %v", n, len(payload), err)
			}
			of.calls = append(of.calls, calls...)
		case 'B':
			c.named = append(c.named, string(payload))
		case 'S':
			var s struct {
				Code    int
				Message string
			}
			if err := json.Unmarshal(payload, &s); err != nil || of.samples[s.Code] != "" || s.Message == "" {
				t.Fatalf("error sample %s: %v", payload, err)
			}
			of.samples[s.Code] = s.Message
		case 'E':
			var e struct {
				CPU int64 `json:"cpu_ns"`
			}
			if err := json.Unmarshal(payload, &e); err != nil {
				t.Fatalf("end frame %s: %v", payload, err)
			}
			of.cpu = e.CPU
			return of
		default:
			t.Fatalf("unexpected frame %c: %q", kind, payload)
		}
	}
}

// impossible waits until the caller reports why the job is impossible, and exits.
func (c *calling) impossible(t *testing.T) (why string) {
	t.Helper()
	for {
		kind, payload := c.frame(t)
		if kind == 'R' {
			continue
		}
		if kind != 'X' {
			t.Fatalf("frame %c %q, want X", kind, payload)
		}
		<-c.p.Done()
		return string(payload)
	}
}

// check requires each call exactly once with its times in order, and returns the number of calls by
// code.
func (c *calling) check(t *testing.T, of loaded, calls int) (codes map[uint8]int) {
	t.Helper()
	seen, codes := map[uint64]bool{}, map[uint8]int{}
	for _, call := range of.calls {
		if seen[call.N] || call.N >= uint64(calls) {
			t.Errorf("call %d of %d is recorded twice, or was not due", call.N, calls)
		}
		seen[call.N] = true
		codes[call.Code]++
		if !(call.Due <= call.Sent && call.Sent <= call.Answered) || time.Since(time.Unix(0, call.Due)) > 10*time.Minute {
			t.Errorf("call %d was due at %d, sent at %d, answered at %d: want this order", call.N, call.Due, call.Sent, call.Answered)
		}
		if call.Code == 0 && int(call.Backend) >= len(c.named) {
			t.Errorf("call %d was answered by backend %d of %q", call.N, call.Backend, c.named)
		}
	}
	if len(of.calls) != calls || of.cpu <= 0 {
		t.Errorf("%d of %d calls are recorded, with %d ns of CPU time", len(of.calls), calls, of.cpu)
	}
	for code := range codes {
		if _, sampled := of.samples[int(code)]; sampled == (code == 0) {
			t.Errorf("code %d has a sample: %t; want one for every error", code, sampled)
		}
	}
	return codes
}

// allAnswered is check for a load whose calls must all have correct answers.
func (c *calling) allAnswered(t *testing.T, of loaded, calls int, by string) {
	t.Helper()
	if codes := c.check(t, of, calls); codes[0] != calls || strings.Join(c.named, " ") != by {
		t.Errorf("%d calls: codes %v, backends %q, samples %v; want no error and one backend", calls, codes, c.named, of.samples)
	}
}

// callerKind is a caller of a language.
type callerKind struct {
	name    string
	rest    bool
	streams bool
}

var callerKinds = map[string][]callerKind{
	"python": {
		{name: "grpc-sync", streams: true}, {name: "grpc-aio", streams: true},
		{name: "requests", rest: true}, {name: "requests-session", rest: true}, {name: "httpx", rest: true},
	},
}

func eachCaller(t *testing.T, test func(t *testing.T, k callerKind, command []string)) {
	for language, kinds := range callerKinds {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			command := builtNamed(t, language)
			for _, k := range kinds {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					test(t, k, command)
				})
			}
		})
	}
}

func builtNamed(t *testing.T, name string) []string {
	t.Helper()
	l, err := language.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return built(t, l)
}

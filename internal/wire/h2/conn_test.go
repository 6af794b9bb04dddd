package h2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestResponsesMayArriveInPiecesOfAnySize(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8, 9, 10, 17, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			p, r := newPeer(t, Limits{}), request(t)
			for range 3 {
				p.conn.Start(stream(r, "ask"))
			}
			for id := uint32(1); id <= 5; id += 2 {
				for _, err := range p.answer(id, strings.Repeat("answer", 50)) {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			for output := p.output.Bytes(); len(output) > 0; output = output[min(size, len(output)):] {
				if err := p.conn.Feed(output[:min(size, len(output))]); err != nil {
					t.Fatal(err)
				}
			}
			if len(p.done) != 3 || p.conn.Active() != 0 {
				t.Fatalf("%d done, %v", len(p.done), p.conn)
			}
			for _, s := range p.done {
				if string(s.Body) != strings.Repeat("answer", 50) || s.Trailers.GRPCStatus != 0 || s.Trailers.Backend != "b1" || s.Failed.Code != OK {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestEveryEncodingOfARequestHasTheSameHeaders(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	decoder := hpack.NewDecoder(4096, nil)
	want := []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/a.B/C"}, {Name: "te", Value: "trailers"}, {Name: "x-long", Value: "v"}}
	var sizes []int
	for i := range 5 {
		if i == 3 { // from here on the server has no table
			p.feed(p.framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}))
			decoder.SetAllowedMaxDynamicTableSize(0)
			p.frames()
		}
		p.conn.Start(stream(r, ""))
		f := p.frames()[0].(*http2.HeadersFrame)
		got, err := decoder.DecodeFull(f.HeaderBlockFragment())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("request %d: %v %v", i, got, err)
		}
		sizes = append(sizes, len(f.HeaderBlockFragment()))
	}
	if sizes[1] != len(want) || sizes[0] <= sizes[1] || sizes[3] != sizes[4]+1 {
		t.Errorf("the sizes of the header blocks are %v; want a long one, two of 5 bytes, and two without a table, the first with its new size", sizes)
	}
}

func TestStreamsOverMaxConcurrentStreamsWait(t *testing.T) {
	p, r := newPeer(t, Limits{}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2}), request(t)
	started := 0
	for range 5 {
		if p.conn.Start(stream(r, "")) {
			started++
		}
	}
	if n := len(p.frames()); n != 2 || started != 2 || len(p.admitted) != 0 {
		t.Fatalf("%d requests were sent, Start reported %d, %d admitted later; 2 are allowed", n, started, len(p.admitted))
	}
	p.feed(p.answer(1, "")...)
	if n := len(p.frames()); n != 1 || len(p.admitted) != 1 {
		t.Fatalf("%d requests after an answer, %d admitted", n, len(p.admitted))
	}
	p.feed(p.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100}))
	if n := len(p.frames()); n != 3 { // with the acknowledgement
		t.Fatalf("%d frames after the limit was raised", n)
	}
}

func TestPayloadsObeyBothFlowControlWindows(t *testing.T) {
	p, r := newPeer(t, Limits{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}), request(t)
	s := stream(r, strings.Repeat("x", 100))
	p.conn.Start(s)
	sent := func() (n int) {
		for _, f := range p.frames() {
			if d, ok := f.(*http2.DataFrame); ok {
				n += len(d.Data())
			}
		}
		return n
	}
	steps := []struct {
		what string
		do   error
		sent int
	}{
		{"the initial window", nil, 10},
		{"a window update of 5", p.framer.WriteWindowUpdate(1, 5), 5},
		{"a smaller initial window takes the window below 0", p.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2}), 0},
		{"a window update of 8, up to 0", p.framer.WriteWindowUpdate(1, 8), 0},
		{"a window update of 20", p.framer.WriteWindowUpdate(1, 20), 20},
		{"a window update over the rest", p.framer.WriteWindowUpdate(1, 1000), 65},
	}
	output := bytes.Clone(p.output.Bytes())
	p.output.Reset()
	for i, step := range steps {
		if i > 0 {
			size := 9 + int(output[2])
			if err := p.conn.Feed(output[:size]); err != nil {
				t.Fatal(err)
			}
			output = output[size:]
		}
		if n := sent(); n != step.sent {
			t.Errorf("%s: %d bytes were sent, want %d", step.what, n, step.sent)
		}
	}
}

// However much the server allows, data that it does not read stays where it is, and is complete in the end.
func TestDataWaitsUntilTheOutputIsWritten(t *testing.T) {
	const size = 3 << 20
	p, r := newPeer(t, Limits{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}), request(t)
	p.feed(p.framer.WriteWindowUpdate(0, 1<<30))
	for range 4 {
		p.conn.Start(stream(r, strings.Repeat("x", size)))
	}
	sent := 0
	for len(p.conn.Out()) > 0 {
		if n := len(p.conn.Out()); n > maxPending+4*maxFrame {
			t.Fatalf("%d bytes wait to be written", n)
		}
		n := min(100_000, len(p.conn.Out()))
		p.conn.Wrote(n)
		sent += n
	}
	if sent < 4*size || sent > 4*size+100_000 {
		t.Errorf("%d bytes were sent, want 4 messages of %d", sent, size)
	}
}

func TestGOAWAYReturnsUnprocessedStreams(t *testing.T) {
	p, r := newPeer(t, Limits{}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3}), request(t)
	for range 4 {
		p.conn.Start(stream(r, ""))
	}
	p.feed(p.framer.WriteGoAway(3, http2.ErrCodeNo, []byte("bye")))
	if len(p.returned) != 2 || p.conn.Usable() || !strings.Contains(p.conn.GoAway(), `"bye"`) {
		t.Fatalf("%d returned, usable %v, %q", len(p.returned), p.conn.Usable(), p.conn.GoAway())
	}
	p.feed(append(p.answer(1, ""), p.answer(3, "")...)...)
	if len(p.done) != 2 || p.conn.Active() != 0 {
		t.Errorf("%d done, %v", len(p.done), p.conn)
	}
}

func TestStreamsOverTheLastStreamIDAreReturned(t *testing.T) {
	p, r := newPeer(t, Limits{Streams: 1}), request(t)
	p.conn.nextID = maxStreamID - 2
	for range 3 {
		p.conn.Start(stream(r, ""))
	}
	p.feed(p.answer(maxStreamID-2, "")...)
	if len(p.returned) != 1 || p.conn.Usable() {
		t.Errorf("%d returned, usable %v", len(p.returned), p.conn.Usable())
	}
	p.feed(p.answer(maxStreamID, "")...)
	if len(p.done) != 2 {
		t.Errorf("%d done", len(p.done))
	}
}

func TestTheResponseOfACancelledStreamIsIgnored(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	s := stream(r, "")
	p.conn.Start(s)
	p.conn.Cancel(s)
	frames := p.frames()
	if reset, ok := frames[len(frames)-1].(*http2.RSTStreamFrame); !ok || reset.ErrCode != http2.ErrCodeCancel {
		t.Errorf("the last frame is %v", frames[len(frames)-1])
	}
	p.feed(p.answer(1, "late")...) // was on its way
	if len(p.done) != 0 {
		t.Error("the handler received the response")
	}
}

func TestAProtocolErrorEndsEveryStream(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	p.conn.Start(stream(r, ""))
	p.frames()
	err := p.conn.Feed([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0}) // DATA on stream 0
	v, ok := errors.AsType[*Violation](err)
	if !ok || v.Code != ProtocolError || len(p.done) != 1 || p.done[0].Failed.Code != Internal {
		t.Errorf("error %v, %d done", err, len(p.done))
	}
	if f, ok := p.frames()[0].(*http2.GoAwayFrame); !ok || f.ErrCode != http2.ErrCodeProtocol {
		t.Error("the client sent no GOAWAY with the error")
	}
	if again := p.conn.Feed([]byte("more")); !errors.Is(again, err) {
		t.Errorf("then: %v", again)
	}
}

// A server may fill the table and refer to it by the same bytes with a new meaning.
func TestHeaderBlocksUseTheCurrentDynamicTable(t *testing.T) {
	p := newPeer(t, Limits{})
	remember := p.conn.heads
	for i := range 200 {
		name := fmt.Sprint("b", i%7)
		if i%3 == 0 {
			name = "same"
		}
		head, err := remember.decode(p.encode(":status", "200", "backend", name))
		if err != nil || head.Backend != name {
			t.Fatalf("block %d: %+v %v, want backend %s", i, head, err, name)
		}
	}
}

func TestTheStreamTableFindsLongLivedStreams(t *testing.T) {
	var tb streamTable
	open := map[uint32]*Stream{}
	random := rand.New(rand.NewPCG(1, 2))
	for id := uint32(1); id < 100_000; id += 2 {
		s := &Stream{id: id}
		tb.add(s)
		open[id] = s
		for other, s := range open {
			if random.IntN(100) < 60 && other%1001 != 0 { // some streams stay open
				tb.remove(s)
				delete(open, other)
			}
			break
		}
	}
	if len(open) < 50 || tb.n != len(open) || len(tb.all(0)) != len(open) {
		t.Fatalf("%d streams are open, the table contains %d", len(open), tb.n)
	}
	for id, s := range open {
		if tb.find(id) != s {
			t.Errorf("the table does not contain stream %d", id)
		}
	}
}

func TestAPINGIsSentAndItsResponseAccepted(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	p.conn.Start(stream(r, "ask"))
	p.conn.Ping()
	frames := p.frames()
	ping, ok := frames[len(frames)-1].(*http2.PingFrame)
	if !ok || ping.IsAck() || len(frames) != 3 {
		t.Fatalf("the client sent %v", frames)
	}
	p.feed(append(p.answer(1, "answer"), p.framer.WritePing(true, ping.Data))...)
	if len(p.done) != 1 || len(p.frames()) != 0 {
		t.Errorf("%d answered, %v", len(p.done), p.conn)
	}
}

func TestAConnectionWhoseAcknowledgementsAreReadAcceptsAnyNumberOfSettings(t *testing.T) {
	p := newPeer(t, Limits{})
	for n := range 2 * maxAcks {
		p.feed(p.framer.WriteSettings())
		if p.frames(); p.conn.err != nil {
			t.Fatalf("after %d SETTINGS frames: %v", n+1, p.conn.err)
		}
	}
}

func TestSettingsChangeTheWindowsOfStreamsOnceAFrame(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	for range 50 {
		p.conn.Start(stream(r, "ask"))
		p.frames()
	}
	allocations := func(entries int) float64 {
		settings := make([]http2.Setting, entries)
		next := uint32(0)
		return testing.AllocsPerRun(10, func() {
			for i := range settings {
				next++
				settings[i] = http2.Setting{ID: http2.SettingInitialWindowSize, Val: next}
			}
			p.feed(p.framer.WriteSettings(settings...))
			p.conn.Wrote(len(p.conn.Out()))
		})
	}
	if one, most := allocations(1), allocations(maxFrame/6); most > one+10 {
		t.Errorf("a frame with 1 entry allocates %g times, a full frame %g times", one, most)
	}
}

func TestAnEntryOfSettingsThatOverflowsAWindowIsAnErrorThoughALaterEntryLowersIt(t *testing.T) {
	p, r := newPeer(t, Limits{}), request(t)
	p.conn.Start(stream(r, "ask"))
	p.feed(p.framer.WriteWindowUpdate(1, 10))
	window := func(v uint32) http2.Setting { return http2.Setting{ID: http2.SettingInitialWindowSize, Val: v} }
	p.feed(p.framer.WriteSettings(window(1), window(maxWindow-10), window(2)))
	if err := p.framer.WriteSettings(window(maxWindow), window(2)); err != nil {
		t.Fatal(err)
	}
	v, ok := errors.AsType[*Violation](p.conn.Feed(p.output.Bytes()))
	if !ok || v.Code != FlowControlError || !strings.Contains(v.Error(), "stream 1") {
		t.Errorf("error %v", v)
	}
}

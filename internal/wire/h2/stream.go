package h2

import "rpclab/internal/wire/list"

// Stream is one request and its response. It can be reused after its end. Its buffers are kept, so
// that calls do not allocate.
type Stream struct {
	// Owner is for the user of the connection.
	Owner any

	Request *Request
	Payload []byte // of the request; not changed before the stream has ended
	More    bool   // [Conn.Send] will send more after Payload

	// The response.
	Headers  *Headers // the first header block; nil: none
	Trailers *Headers // the last one; the same as Headers in a Trailers-Only response
	Body     []byte   // of all DATA frames
	Failed   Status   // not OK: why there is no whole response

	id       uint32 // 0: not yet sent
	window   int64  // what the peer lets us send
	consumed uint32 // bytes received since our last WINDOW_UPDATE
	unsent   []byte // rest of Payload
	sentEnd  bool

	link list.Link[Stream] // in the connection's list of those that wait, or are blocked
}

// Sent reports whether any of the request was sent.
func (s *Stream) Sent() bool { return s.id != 0 }

const keepBody = 1 << 20 // bytes of a buffer that is kept for the next use

// Reset prepares the stream for its next request. It keeps buffers and Owner.
func (s *Stream) Reset() {
	body := s.Body[:0]
	if cap(body) > keepBody {
		body = nil
	}
	*s = Stream{Owner: s.Owner, Request: s.Request, Payload: s.Payload, Body: body}
}

// streamTable finds open streams by id. Ids count up by two, so a ring whose size is a power of two
// holds the latest streams. A stream whose slot is needed moves to a map.
type streamTable struct {
	ring  []*Stream
	spill map[uint32]*Stream
	n     int
}

const (
	ringSmallest = 16
	ringLargest  = 1 << 16
)

func (t *streamTable) place(id uint32) *(*Stream) { return &t.ring[int(id>>1)&(len(t.ring)-1)] }

func (t *streamTable) add(s *Stream) {
	if t.n >= len(t.ring)/2 && len(t.ring) < ringLargest {
		t.grow()
	}
	place := t.place(s.id)
	if *place != nil {
		if t.spill == nil {
			t.spill = map[uint32]*Stream{}
		}
		t.spill[(*place).id] = *place
	}
	*place = s
	t.n++
}

func (t *streamTable) grow() {
	old := t.ring
	t.ring = make([]*Stream, max(ringSmallest, 2*len(old)))
	for _, s := range old {
		if s != nil {
			*t.place(s.id) = s // never collides: two slots of the smaller ring are two slots of the larger one
		}
	}
}

func (t *streamTable) find(id uint32) *Stream {
	if len(t.ring) == 0 {
		return nil
	}
	if s := *t.place(id); s != nil && s.id == id {
		return s
	}
	if len(t.spill) > 0 {
		return t.spill[id]
	}
	return nil
}

func (t *streamTable) remove(s *Stream) {
	if place := t.place(s.id); *place == s {
		*place = nil
	} else {
		delete(t.spill, s.id)
	}
	t.n--
}

// all returns the open streams with an id above above.
func (t *streamTable) all(above uint32) []*Stream {
	var all []*Stream
	for _, s := range t.ring {
		if s != nil && s.id > above {
			all = append(all, s)
		}
	}
	for id, s := range t.spill {
		if id > above {
			all = append(all, s)
		}
	}
	return all
}

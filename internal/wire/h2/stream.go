package h2

import "rpclab/internal/wire/chain"

// Stream is one request and its answer. It can be used again once it has ended;
// its buffers stay, so that calls cost no memory in the steady state.
type Stream struct {
	// Owner is whatever the user of the connection wants to find again.
	Owner any

	Request *Request
	Payload []byte // of the request; not changed before the stream has ended
	More    bool   // [Conn.Send] will send more after Payload

	// The answer.
	Head    *Head  // the first header block; nil: none
	Trailer *Head  // the last one; it is Head itself in an answer of trailers only
	Body    []byte // of all DATA frames
	Failed  Status // not OK: why there is no whole answer

	id       uint32 // 0: not yet sent
	window   int64  // what the peer lets us send
	consumed uint32 // bytes received since our last WINDOW_UPDATE
	unsent   []byte // rest of Payload
	sentEnd  bool

	link chain.Link[Stream] // in the connection's list of those that wait, or are blocked
}

// Sent says whether the request was begun to be sent, and did not only wait for it.
func (s *Stream) Sent() bool { return s.id != 0 }

const keepBody = 1 << 20 // bytes of a buffer that is kept for the next use

// Reset makes the stream ready for its next request; buffers and Owner stay.
func (s *Stream) Reset() {
	body := s.Body[:0]
	if cap(body) > keepBody {
		body = nil
	}
	*s = Stream{Owner: s.Owner, Request: s.Request, Payload: s.Payload, Body: body}
}

// table finds the open streams by id: ids count up by two, so a ring with a power of
// two of places holds the latest, and a stream that outlives a turn of the ring
// moves to a map.
type table struct {
	ring  []*Stream
	spill map[uint32]*Stream
	n     int
}

const (
	ringSmallest = 16
	ringLargest  = 1 << 16
)

func (t *table) place(id uint32) *(*Stream) { return &t.ring[int(id>>1)&(len(t.ring)-1)] }

func (t *table) add(s *Stream) {
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

func (t *table) grow() {
	old := t.ring
	t.ring = make([]*Stream, max(ringSmallest, 2*len(old)))
	for _, s := range old {
		if s != nil {
			*t.place(s.id) = s // cannot collide: the places of a smaller ring fall apart
		}
	}
}

func (t *table) find(id uint32) *Stream {
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

func (t *table) remove(s *Stream) {
	if place := t.place(s.id); *place == s {
		*place = nil
	} else {
		delete(t.spill, s.id)
	}
	t.n--
}

// all returns the open streams whose id is above one.
func (t *table) all(above uint32) []*Stream {
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

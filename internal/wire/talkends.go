package wire

import (
	"time"

	"rpclab/internal/wire/h2"
)

// pause is how long a stream of answers that ended is not opened again.
const pause = 5 * time.Millisecond

// again places the questions once more whose backend had no stream.
func (t *talk) again() {
	for n := t.later.Len(); n > 0 && t.later.Len() > 0; n-- {
		k := t.later.First()
		k.queued.Leave()
		t.core.place(k)
	}
}

// forget has a question wait for no answer.
func (t *talk) forget(k *call) {
	if k.asking == nil {
		return
	}
	if t.waiting[k.asking.number] == k {
		delete(t.waiting, k.asking.number)
	}
	if s := k.asking.over; s != nil {
		k.asking.over = nil
		s.listening.due--
		if t.leaving && s.link != nil {
			t.leave(s.link)
		}
	}
}

// leave ends the streams of connections to a backend that are to end, as soon as nothing is due
// on them. A stream of answers may bring those of another connection's questions.
func (t *talk) leave(gone *link) {
	t.leaving = false
	due := 0
	for s := range t.open {
		if s.link != nil && s.link.addr == gone.addr {
			due += s.listening.due
		}
	}
	for s := range t.open {
		switch l := s.link; {
		case l == nil || l.dead || !l.draining || l.conn == nil:
		case l.addr != gone.addr, t.Streams > 0 && s.listening.due > 0, t.Streams == 0 && due > 0:
			t.leaving = true
		default:
			t.release(s)
		}
	}
}

// release ends a stream from this side.
func (t *talk) release(s *call) {
	l := s.link
	l.conn.Cancel(&s.stream)
	t.ended(s, h2.Status{Code: h2.Unavailable, Message: "the connection goes away"})
	t.core.after(0, func() {
		if !l.dead {
			l.review()
		}
	})
}

// ended is the end of a stream. Questions on a two-way one have no answer then; those that a
// backend has taken get theirs over its next stream.
func (t *talk) ended(s *call, why h2.Status) {
	if _, open := t.open[s]; !open {
		return
	}
	delete(t.open, s)
	if at := s.listening.at; at >= 0 && t.streams[at] == s {
		t.streams[at] = nil
	}
	if why.Code == h2.OK {
		why = h2.Status{Code: h2.Unavailable, Message: "the server closed it"}
	}
	status := h2.Status{Code: why.Code, Message: "the stream ended before the answer: " + why.Message}
	for _, k := range t.waiting {
		if k.asking.over != s {
			continue
		}
		k.asking.over = nil
		if t.Streams > 0 || why.Code == h2.DataLoss {
			if l := k.link; l != nil && l.conn != nil {
				l.conn.Cancel(&k.stream)
			}
			t.core.failed(k, status)
		}
	}
	if l := s.link; l != nil && l.answers == s {
		l.answers = nil
		t.resume(l, s, status)
	}
}

// resume sees to those who count on a connection's stream of answers.
func (t *talk) resume(l *link, s *call, why h2.Status) {
	for k := s.listening.questions.First(); k != nil; k = s.listening.questions.First() {
		k.queued.Leave()
		if l.draining {
			t.core.returned(k, why)
		} else {
			t.core.failed(k, why)
		}
	}
	if !s.listening.stands || len(t.waiting) == 0 {
		return
	}
	t.core.after(pause, func() {
		if !l.draining && !t.core.closing {
			_ = t.listen(l) // the next question says why not
		}
	})
}

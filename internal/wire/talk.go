package wire

import (
	"bytes"
	"errors"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h2"
)

// Talk makes each call of a [Call] a question. Its answer says which question it is of and
// comes over a stream that outlives calls. An engine that talks has one core, and channels.
type Talk struct {
	// Streams are two-way ones of the call's method, taken in turn, which carry questions and
	// answers. 0: a question is a unary call, which ends when it was taken and its answer has
	// come over the stream of its connection, of the method From.
	Streams int
	From    string
	// Ask appends the next question to dst, and numbers it.
	Ask func(dst []byte) (message []byte, number uint64, err error)
	// Hear says which question an answer is of, and what is wrong with it. After an error
	// nobody can say that: the stream ends, and what waits for its answers fails.
	Hear func(answer []byte, backend string) (number uint64, wrong, err error)
	// Metadata is, besides the call's, that of one stream or unary call; nil: there is no more.
	Metadata func() ([]h2.Field, error)
}

func (t *Talk) check(cfg Config, call Call) error {
	switch {
	case t == nil:
		return nil
	case call.HTTP != nil || call.Stream != nil || call.Make != nil || call.Message != nil || call.Check != nil:
		return errors.New("wire: questions make and check their own messages, over gRPC")
	case cfg.Cores > 1 || cfg.PerCall || cfg.PerUser:
		return errors.New("wire: questions are of one core, and of channels that stay")
	case t.Streams < 0 || t.Ask == nil || t.Hear == nil:
		return errors.New("wire: a talk that nobody asks in, nor hears")
	}
	return nil
}

// asking is what a question has come to.
type asking struct {
	number   uint64
	over     *call // the stream on which its answer is due; nil: it is not on its way, or that has ended
	taken    bool  // the unary call has ended well
	answered bool
	backend  string
	status   h2.Status
}

// listening is what a call is that is a stream of a talk, and no call of a load.
type listening struct {
	at        int // among the two-way streams, or -1
	due       int // answers
	stands    bool
	questions chain.List[call] // that wait until it does
}

// talk is that of a core.
type talk struct {
	*Talk
	core    *core
	make    func(method string, limit time.Duration, more []h2.Field) (*h2.Request, error)
	streams []*call // the two-way ones; nil: the next question opens it
	open    map[*call]struct{}
	waiting map[uint64]*call // questions that are on their way, by number
	later   chain.List[call] // questions of whose client a backend had no stream
	leaving bool             // some connection with a stream is to end
}

func newTalk(c *core, t *Talk, form func(string, time.Duration, []h2.Field) (*h2.Request, error)) *talk {
	return &talk{Talk: t, core: c, make: form, streams: make([]*call, t.Streams), open: map[*call]struct{}{}, waiting: map[uint64]*call{}}
}

// ask makes a question of a call.
func (t *talk) ask(k *call) (err error) {
	k.stream.Reset()
	if k.asking == nil {
		k.asking = new(asking)
	}
	*k.asking = asking{}
	if k.buffer, k.asking.number, err = t.Ask(append(k.buffer[:0], 0, 0, 0, 0, 0)); err != nil {
		return err
	}
	k.stream.Payload = frameInPlace(k.buffer)
	if t.Streams == 0 && t.Metadata != nil {
		k.stream.Request, err = t.request(t.core.call.Method, t.core.cfg.Timeout)
	}
	return err
}

func (t *talk) request(method string, limit time.Duration) (*h2.Request, error) {
	if t.Metadata == nil {
		return t.make(method, limit, nil)
	}
	more, err := t.Metadata()
	if err != nil {
		return nil, err
	}
	return t.make(method, limit, more)
}

// newStream is one that is not yet on any connection, without a deadline.
func (t *talk) newStream(at int, method string, payload []byte) (*call, error) {
	request, err := t.request(method, 0)
	if err != nil {
		return nil, err
	}
	k := &call{user: -1, n: uint64(max(at, 0)), listening: &listening{at: at}}
	k.stream.Owner, k.stream.Payload, k.stream.Request = k, payload, request
	t.open[k] = struct{}{}
	return k, nil
}

// say puts a question on the two-way stream whose turn it is.
func (t *talk) say(k *call) {
	at := int(k.n % uint64(len(t.streams)))
	s := t.streams[at]
	if s != nil && (s.link == nil || !s.link.draining) {
		t.wait(k, s)
		if s.stream.Sent() {
			s.link.conn.(*h2.Conn).Send(&s.stream, k.stream.Payload, true)
			t.core.touch(s.link)
		} else {
			s.stream.Payload = append(s.stream.Payload, k.stream.Payload...)
		}
		return
	}
	s, err := t.newStream(at, t.core.call.Method, bytes.Clone(k.stream.Payload))
	if err != nil {
		t.core.failed(k, h2.Status{Code: h2.Internal, Message: err.Error()})
		return
	}
	t.streams[at] = s
	t.wait(k, s)
	t.core.place(s)
}

func (t *talk) wait(k, s *call) {
	k.asking.over = s
	s.listening.due++
	t.waiting[k.asking.number] = k
}

// hears has a unary question wait until its connection has a stream of answers.
func (t *talk) hears(l *link, k *call) bool {
	if err := t.listen(l); err != nil {
		t.core.failed(k, h2.Status{Code: h2.Internal, Message: err.Error()})
		return false
	}
	s := l.answers
	if s.listening.stands {
		t.wait(k, s)
		return true
	}
	s.listening.questions.Push(k, &k.queued)
	return false
}

// listen opens a connection's stream of answers, if it has none.
func (t *talk) listen(l *link) (err error) {
	if l.answers == nil {
		if l.answers, err = t.newStream(-1, t.From, frame(nil)); err == nil {
			l.start(l.answers)
		}
	}
	return err
}

// stood is told when something has come on a stream, its head at first.
func (t *talk) stood(s *call) {
	if s.listening.stands || s.stream.Head == nil || s.stream.Head.Status != 200 || !isGRPC(s.stream.Head.Type) {
		return
	}
	s.listening.stands = true
	for k := s.listening.questions.First(); k != nil; k = s.listening.questions.First() {
		k.queued.Leave()
		if s.link.conn.Usable() {
			s.link.start(k)
		} else {
			t.core.retry.Push(k, &k.queued)
		}
	}
}

// answer takes one message of a stream, with its prefix, and says whether the stream goes on.
func (t *talk) answer(s *call, framed []byte) bool {
	message, status := t.core.unpack.message(framed, s.stream.Head)
	if status.Code != h2.OK {
		s.link.conn.Abort(&s.stream, status)
		return false
	}
	backend := s.stream.Head.Backend
	number, wrong, err := t.Hear(message, backend)
	if err != nil {
		s.link.conn.Abort(&s.stream, h2.Status{Code: h2.DataLoss, Message: err.Error()})
		return false
	}
	k := t.waiting[number]
	if k == nil {
		return true // it was given up
	}
	t.forget(k)
	k.asking.answered, k.asking.backend = true, backend
	if wrong != nil {
		k.asking.backend, k.asking.status = "", h2.Status{Code: h2.DataLoss, Message: wrong.Error()}
	}
	if t.Streams > 0 || k.asking.taken {
		t.core.end(k, k.asking.backend, k.asking.status)
	}
	return true
}

// taken is a question whose unary call has ended.
func (t *talk) taken(k *call, status h2.Status) {
	switch {
	case status.Code == h2.FailedPrecondition:
		t.forget(k)
		t.later.Push(k, &k.queued)
		t.core.after(pause, t.again)
	case status.Code != h2.OK:
		t.core.end(k, "", status)
	case k.asking.answered:
		t.core.end(k, k.asking.backend, k.asking.status)
	default:
		k.asking.taken = true
	}
}

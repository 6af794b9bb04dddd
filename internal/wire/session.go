package wire

import (
	"bytes"
	"errors"
	"time"

	"rpclab/internal/wire/h2"
	"rpclab/internal/wire/list"
)

func (t *Session) check(cfg Config, call Call) error {
	switch {
	case t == nil:
		return nil
	case call.HTTP != nil || call.Stream != nil || call.AppendMessage != nil || call.Message != nil || call.Check != nil:
		return errors.New("wire: a session makes and checks its own messages, over gRPC")
	case cfg.Cores > 1 || cfg.ConnectionPerCall || cfg.ChannelPerUser:
		return errors.New("wire: a session needs one core and channels that outlive calls")
	case t.Streams < 0 || t.AppendRequest == nil || t.MatchResponse == nil:
		return errors.New("wire: a session needs AppendRequest and MatchResponse")
	}
	return nil
}

// streamSession is the [session] of a core.
type streamSession struct {
	*Session
	core       *core
	newRequest func(method string, limit time.Duration, more []h2.Field) (*h2.Request, error)
	streams    []*call // the bidirectional ones; nil: the next request opens it
	open       map[*call]struct{}
	awaiting   map[uint64]*call // requests without a response, by id
	retryLater list.List[call]  // requests whose backend had no stream of responses
	leaving    bool             // a connection with a stream is draining
}

func newSession(c *core, t *Session, form func(string, time.Duration, []h2.Field) (*h2.Request, error)) *streamSession {
	return &streamSession{Session: t, core: c, newRequest: form, streams: make([]*call, t.Streams), open: map[*call]struct{}{}, awaiting: map[uint64]*call{}}
}

// prepare makes a call a request.
func (t *streamSession) prepare(k *call) (err error) {
	k.stream.Reset()
	if k.request == nil {
		k.request = new(sessionRequest)
	}
	*k.request = sessionRequest{}
	if k.buffer, k.request.id, err = t.AppendRequest(append(k.buffer[:0], 0, 0, 0, 0, 0)); err != nil {
		return err
	}
	k.stream.Payload = frameInPlace(k.buffer)
	if t.Streams == 0 && t.Metadata != nil {
		k.stream.Request, err = t.request(t.core.call.Method, t.core.cfg.Timeout)
	}
	return err
}

func (t *streamSession) request(method string, limit time.Duration) (*h2.Request, error) {
	if t.Metadata == nil {
		return t.newRequest(method, limit, nil)
	}
	more, err := t.Metadata()
	if err != nil {
		return nil, err
	}
	return t.newRequest(method, limit, more)
}

// newStream returns a stream without a deadline that is not yet on a connection.
func (t *streamSession) newStream(at int, method string, payload []byte) (*call, error) {
	request, err := t.request(method, 0)
	if err != nil {
		return nil, err
	}
	k := &call{user: -1, number: uint64(max(at, 0)), sessionStream: &sessionStream{index: at}}
	k.stream.Owner, k.stream.Payload, k.stream.Request = k, payload, request
	t.open[k] = struct{}{}
	return k, nil
}

// send sends a request on the next bidirectional stream, or returns false if requests are unary
// calls.
func (t *streamSession) send(k *call) bool {
	if t.Streams == 0 || k.sessionStream != nil {
		return false
	}
	at := int(k.number % uint64(len(t.streams)))
	s := t.streams[at]
	if s != nil && (s.connection == nil || !s.connection.draining) {
		t.await(k, s)
		if s.stream.Sent() {
			s.connection.protocol.(*h2.Conn).Send(&s.stream, k.stream.Payload, true)
			t.core.markUnflushed(s.connection)
		} else {
			s.stream.Payload = append(s.stream.Payload, k.stream.Payload...)
		}
		return true
	}
	s, err := t.newStream(at, t.core.call.Method, bytes.Clone(k.stream.Payload))
	if err != nil {
		t.core.failCall(k, h2.Status{Code: h2.Internal, Message: err.Error()})
		return true
	}
	t.streams[at] = s
	t.await(k, s)
	t.core.place(s)
	return true
}

func (t *streamSession) await(k, s *call) {
	k.request.stream = s
	s.sessionStream.awaited++
	t.awaiting[k.request.id] = k
}

// mayStart reports whether a call may start on a connection now. A unary request waits for the
// connection's stream of responses.
func (t *streamSession) mayStart(l *connection, k *call) bool {
	if t.Streams > 0 || k.sessionStream != nil {
		return true
	}
	if err := t.openResponseStream(l); err != nil {
		t.core.failCall(k, h2.Status{Code: h2.Internal, Message: err.Error()})
		return false
	}
	s := l.responseStream
	if s.sessionStream.ready {
		t.await(k, s)
		return true
	}
	s.sessionStream.requests.PushBack(k, &k.queued)
	return false
}

// openResponseStream opens a connection's stream of responses, if it has none.
func (t *streamSession) openResponseStream(l *connection) (err error) {
	if l.responseStream == nil {
		if l.responseStream, err = t.newStream(-1, t.ResponseMethod, frame(nil)); err == nil {
			l.start(l.responseStream)
		}
	}
	return err
}

// streamReady sends the requests that waited for a stream, once its headers have come.
func (t *streamSession) streamReady(s *call) {
	if s.sessionStream.ready || s.stream.Headers == nil || s.stream.Headers.Status != 200 || !isGRPC(s.stream.Headers.Type) {
		return
	}
	s.sessionStream.ready = true
	for k := s.sessionStream.requests.Front(); k != nil; k = s.sessionStream.requests.Front() {
		k.queued.Remove()
		if s.connection.protocol.Usable() {
			s.connection.start(k)
		} else {
			t.core.retry.PushBack(k, &k.queued)
		}
	}
}

// receive handles the whole messages that have come on a stream.
func (t *streamSession) receive(s *call) {
	t.streamReady(s)
	rest := s.stream.Body
	for {
		size, ok := t.core.wholeMessage(s, rest)
		if !ok {
			return
		}
		if size == 0 {
			break
		}
		if !t.receiveMessage(s, rest[:size]) {
			return
		}
		rest = rest[size:]
	}
	s.stream.Body = s.stream.Body[:copy(s.stream.Body, rest)]
}

// receiveMessage handles one message with its prefix. It returns false when the stream has ended.
func (t *streamSession) receiveMessage(s *call, framed []byte) bool {
	message, status := t.core.decoder.message(framed, s.stream.Headers)
	if status.Code != h2.OK {
		s.connection.protocol.Abort(&s.stream, status)
		return false
	}
	backend := s.stream.Headers.Backend
	id, wrong, err := t.MatchResponse(message, backend)
	if err != nil {
		s.connection.protocol.Abort(&s.stream, h2.Status{Code: h2.DataLoss, Message: err.Error()})
		return false
	}
	k := t.awaiting[id]
	if k == nil {
		return true // the call was cancelled
	}
	t.stopAwaiting(k)
	k.request.answered, k.request.backend = true, backend
	if wrong != nil {
		k.request.backend, k.request.status = "", h2.Status{Code: h2.DataLoss, Message: wrong.Error()}
	}
	if t.Streams > 0 || k.request.accepted {
		t.core.endCall(k, k.request.backend, k.request.status)
	}
	return true
}

// unaryEnded handles the end of a request's unary call. FAILED_PRECONDITION means that the backend
// has no stream of responses yet: the request is sent again.
func (t *streamSession) unaryEnded(k *call, status h2.Status) {
	switch {
	case status.Code == h2.FailedPrecondition:
		t.stopAwaiting(k)
		t.retryLater.PushBack(k, &k.queued)
		t.core.after(streamReopenDelay, t.sendRetries)
	case status.Code != h2.OK:
		t.core.endCall(k, "", status)
	case k.request.answered:
		t.core.endCall(k, k.request.backend, k.request.status)
	default:
		k.request.accepted = true
	}
}

// streamReopenDelay is the time before a stream of responses that ended is opened again.
const streamReopenDelay = 5 * time.Millisecond

// sendRetries sends the requests again whose backend had no stream.
func (t *streamSession) sendRetries() {
	for n := t.retryLater.Len(); n > 0 && t.retryLater.Len() > 0; n-- {
		k := t.retryLater.Front()
		k.queued.Remove()
		t.core.place(k)
	}
}

// stopAwaiting forgets the response to a request.
func (t *streamSession) stopAwaiting(k *call) {
	if k.request == nil {
		return
	}
	if t.awaiting[k.request.id] == k {
		delete(t.awaiting, k.request.id)
	}
	if s := k.request.stream; s != nil {
		k.request.stream = nil
		s.sessionStream.awaited--
		if t.leaving && s.connection != nil {
			t.releaseDraining(s.connection)
		}
	}
}

// releaseDraining ends the streams of draining connections to a backend when no response is
// awaited on them. A stream of responses may bring those to requests on another connection.
func (t *streamSession) releaseDraining(gone *connection) {
	t.leaving = false
	due := 0
	for s := range t.open {
		if s.connection != nil && s.connection.addr == gone.addr {
			due += s.sessionStream.awaited
		}
	}
	for s := range t.open {
		switch l := s.connection; {
		case l == nil || l.closed || !l.draining || l.protocol == nil:
		case l.addr != gone.addr, t.Streams > 0 && s.sessionStream.awaited > 0, t.Streams == 0 && due > 0:
			t.leaving = true
		default:
			t.release(s)
		}
	}
}

// release ends a stream from this side.
func (t *streamSession) release(s *call) {
	l := s.connection
	l.protocol.Cancel(&s.stream)
	t.streamEnded(s, h2.Status{Code: h2.Unavailable, Message: "the connection is draining"})
	t.core.after(0, func() {
		if !l.closed {
			l.afterChange()
		}
	})
}

// streamEnded handles the end of a stream. Requests on a bidirectional stream fail. Requests that
// a backend has accepted get their responses over its next stream.
func (t *streamSession) streamEnded(s *call, why h2.Status) {
	if _, open := t.open[s]; !open {
		return
	}
	delete(t.open, s)
	if at := s.sessionStream.index; at >= 0 && t.streams[at] == s {
		t.streams[at] = nil
	}
	if why.Code == h2.OK {
		why = h2.Status{Code: h2.Unavailable, Message: "the server closed the stream"}
	}
	status := h2.Status{Code: why.Code, Message: "the stream ended before the response: " + why.Message}
	for _, k := range t.awaiting {
		if k.request.stream != s {
			continue
		}
		k.request.stream = nil
		if t.Streams > 0 || why.Code == h2.DataLoss {
			if l := k.connection; l != nil && l.protocol != nil {
				l.protocol.Cancel(&k.stream)
			}
			t.core.failCall(k, status)
		}
	}
	if l := s.connection; l != nil && l.responseStream == s {
		l.responseStream = nil
		t.reopenResponseStream(l, s, status)
	}
}

// reopenResponseStream fails the requests that waited for a connection's stream of responses and
// opens the stream again if responses are awaited.
func (t *streamSession) reopenResponseStream(l *connection, s *call, why h2.Status) {
	for k := s.sessionStream.requests.Front(); k != nil; k = s.sessionStream.requests.Front() {
		k.queued.Remove()
		if l.draining {
			t.core.unprocessed(k, why)
		} else {
			t.core.failCall(k, why)
		}
	}
	if !s.sessionStream.ready || len(t.awaiting) == 0 {
		return
	}
	t.core.after(streamReopenDelay, func() {
		if !l.draining && !t.core.closing {
			_ = t.openResponseStream(l) // the next request reports the error
		}
	})
}

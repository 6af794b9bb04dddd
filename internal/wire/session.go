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

func newSession(core *core, settings *Session, form func(string, time.Duration, []h2.Field) (*h2.Request, error)) *streamSession {
	return &streamSession{Session: settings, core: core, newRequest: form, streams: make([]*call, settings.Streams), open: map[*call]struct{}{}, awaiting: map[uint64]*call{}}
}

// prepare makes a call a request.
func (t *streamSession) prepare(call *call) (err error) {
	call.stream.Reset()
	if call.request == nil {
		call.request = new(sessionRequest)
	}
	*call.request = sessionRequest{}
	if call.buffer, call.request.id, err = t.AppendRequest(append(call.buffer[:0], 0, 0, 0, 0, 0)); err != nil {
		return err
	}
	call.stream.Payload = frameInPlace(call.buffer)
	if t.Streams == 0 && t.Metadata != nil {
		call.stream.Request, err = t.request(t.core.call.Method, t.core.cfg.Timeout)
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
	call := &call{user: -1, number: uint64(max(at, 0)), sessionStream: &sessionStream{index: at}}
	call.stream.Owner, call.stream.Payload, call.stream.Request = call, payload, request
	t.open[call] = struct{}{}
	return call, nil
}

// send sends a request on the next bidirectional stream, or returns false if requests are unary
// calls.
func (t *streamSession) send(call *call) bool {
	if t.Streams == 0 || call.sessionStream != nil {
		return false
	}
	at := int((call.number + t.core.before) % uint64(len(t.streams))) // a load can be a short block, which would use the first streams only
	stream := t.streams[at]
	if stream != nil && (stream.connection == nil || !stream.connection.draining) {
		t.await(call, stream)
		if stream.stream.Sent() {
			stream.connection.protocol.(*h2.Conn).Send(&stream.stream, call.stream.Payload, true)
			t.core.markUnflushed(stream.connection)
		} else {
			stream.stream.Payload = append(stream.stream.Payload, call.stream.Payload...)
		}
		return true
	}
	stream, err := t.newStream(at, t.core.call.Method, bytes.Clone(call.stream.Payload))
	if err != nil {
		t.core.failCall(call, h2.Status{Code: h2.Internal, Message: err.Error()})
		return true
	}
	t.streams[at] = stream
	t.await(call, stream)
	t.core.place(stream)
	return true
}

func (t *streamSession) await(call, stream *call) {
	call.request.stream = stream
	stream.sessionStream.awaited++
	t.awaiting[call.request.id] = call
}

// mayStart reports whether a call may start on a connection now. A unary request waits for the
// connection's stream of responses.
func (t *streamSession) mayStart(conn *connection, call *call) bool {
	if t.Streams > 0 || call.sessionStream != nil {
		return true
	}
	if err := t.openResponseStream(conn); err != nil {
		t.core.failCall(call, h2.Status{Code: h2.Internal, Message: err.Error()})
		return false
	}
	stream := conn.responseStream
	if stream.sessionStream.ready {
		t.await(call, stream)
		return true
	}
	stream.sessionStream.requests.PushBack(call, &call.queued)
	return false
}

// openResponseStream opens a connection's stream of responses, if it has none.
func (t *streamSession) openResponseStream(conn *connection) (err error) {
	if conn.responseStream == nil {
		if conn.responseStream, err = t.newStream(-1, t.ResponseMethod, frame(nil)); err == nil {
			conn.start(conn.responseStream)
		}
	}
	return err
}

// streamReady sends the requests that waited for a stream, once its headers have arrived.
func (t *streamSession) streamReady(stream *call) {
	if stream.sessionStream.ready || stream.stream.Headers == nil || stream.stream.Headers.Status != 200 || !isGRPC(stream.stream.Headers.Type) {
		return
	}
	stream.sessionStream.ready = true
	for call := stream.sessionStream.requests.Front(); call != nil; call = stream.sessionStream.requests.Front() {
		call.queued.Remove()
		if stream.connection.protocol.Usable() {
			stream.connection.start(call)
		} else {
			t.core.retry.PushBack(call, &call.queued)
		}
	}
}

// receive handles the complete messages that have arrived on a stream.
func (t *streamSession) receive(stream *call) {
	t.streamReady(stream)
	rest := stream.stream.Body
	for {
		size, ok := t.core.completeMessage(stream, rest)
		if !ok {
			return
		}
		if size == 0 {
			break
		}
		if !t.receiveMessage(stream, rest[:size]) {
			return
		}
		rest = rest[size:]
	}
	stream.stream.Body = stream.stream.Body[:copy(stream.stream.Body, rest)]
}

// receiveMessage handles one message with its prefix. It returns false when the stream has ended.
func (t *streamSession) receiveMessage(stream *call, framed []byte) bool {
	message, status := t.core.decoder.message(framed, stream.stream.Headers)
	if status.Code != h2.OK {
		stream.connection.protocol.Abort(&stream.stream, status)
		return false
	}
	backend := stream.stream.Headers.Backend
	id, wrong, err := t.MatchResponse(message, backend)
	if err != nil {
		stream.connection.protocol.Abort(&stream.stream, h2.Status{Code: h2.DataLoss, Message: err.Error()})
		return false
	}
	call := t.awaiting[id]
	if call == nil {
		return true // the call was cancelled
	}
	t.stopAwaiting(call)
	call.request.answered, call.request.backend = true, backend
	if wrong != nil {
		call.request.backend, call.request.status = "", h2.Status{Code: h2.DataLoss, Message: wrong.Error()}
	}
	if t.Streams > 0 || call.request.accepted {
		t.core.endCall(call, call.request.backend, call.request.status)
	}
	return true
}

// unaryEnded handles the end of a request's unary call. FAILED_PRECONDITION means that the backend
// has no stream of responses yet: the request is sent again.
func (t *streamSession) unaryEnded(call *call, status h2.Status) {
	switch {
	case status.Code == h2.FailedPrecondition:
		t.stopAwaiting(call)
		t.retryLater.PushBack(call, &call.queued)
		t.core.after(streamReopenDelay, t.sendRetries)
	case status.Code != h2.OK:
		t.core.endCall(call, "", status)
	case call.request.answered:
		t.core.endCall(call, call.request.backend, call.request.status)
	default:
		call.request.accepted = true
	}
}

// streamReopenDelay is the time before a stream of responses that ended is opened again.
const streamReopenDelay = 5 * time.Millisecond

// sendRetries sends the requests again whose backend had no stream.
func (t *streamSession) sendRetries() {
	for n := t.retryLater.Len(); n > 0 && t.retryLater.Len() > 0; n-- {
		call := t.retryLater.Front()
		call.queued.Remove()
		t.core.place(call)
	}
}

// stopAwaiting forgets the response to a request.
func (t *streamSession) stopAwaiting(call *call) {
	if call.request == nil {
		return
	}
	if t.awaiting[call.request.id] == call {
		delete(t.awaiting, call.request.id)
	}
	if stream := call.request.stream; stream != nil {
		call.request.stream = nil
		stream.sessionStream.awaited--
		if t.leaving && stream.connection != nil {
			t.releaseDraining(stream.connection)
		}
	}
}

// releaseDraining ends the streams of draining connections to a backend when no response is
// awaited on them. A stream of responses may bring those to requests on another connection.
func (t *streamSession) releaseDraining(gone *connection) {
	t.leaving = false
	due := 0
	for stream := range t.open {
		if stream.connection != nil && stream.connection.addr == gone.addr {
			due += stream.sessionStream.awaited
		}
	}
	for stream := range t.open {
		switch conn := stream.connection; {
		case conn == nil || conn.closed || !conn.draining || conn.protocol == nil:
		case conn.addr != gone.addr, t.Streams > 0 && stream.sessionStream.awaited > 0, t.Streams == 0 && due > 0:
			t.leaving = true
		default:
			t.release(stream)
		}
	}
}

// release ends a stream from this side.
func (t *streamSession) release(stream *call) {
	conn := stream.connection
	conn.protocol.Cancel(&stream.stream)
	t.streamEnded(stream, h2.Status{Code: h2.Unavailable, Message: "the connection is draining"})
	t.core.after(0, func() {
		if !conn.closed {
			conn.afterChange()
		}
	})
}

// streamEnded handles the end of a stream. Requests on a bidirectional stream fail. Requests that
// a backend has accepted get their responses over its next stream.
func (t *streamSession) streamEnded(stream *call, why h2.Status) {
	if _, open := t.open[stream]; !open {
		return
	}
	delete(t.open, stream)
	if at := stream.sessionStream.index; at >= 0 && t.streams[at] == stream {
		t.streams[at] = nil
	}
	if why.Code == h2.OK {
		why = h2.Status{Code: h2.Unavailable, Message: "the server closed the stream"}
	}
	status := h2.Status{Code: why.Code, Message: "the stream ended before the response: " + why.Message}
	for _, call := range t.awaiting {
		if call.request.stream != stream {
			continue
		}
		call.request.stream = nil
		if t.Streams > 0 || why.Code == h2.DataLoss {
			if conn := call.connection; conn != nil && conn.protocol != nil {
				conn.protocol.Cancel(&call.stream)
			}
			t.core.failCall(call, status)
		}
	}
	if conn := stream.connection; conn != nil && conn.responseStream == stream {
		conn.responseStream = nil
		t.reopenResponseStream(conn, stream, status)
	}
}

// reopenResponseStream fails the requests that waited for a connection's stream of responses and
// opens the stream again if responses are awaited.
func (t *streamSession) reopenResponseStream(conn *connection, stream *call, why h2.Status) {
	for call := stream.sessionStream.requests.Front(); call != nil; call = stream.sessionStream.requests.Front() {
		call.queued.Remove()
		if conn.draining {
			t.core.unprocessed(call, why)
		} else {
			t.core.failCall(call, why)
		}
	}
	if !stream.sessionStream.ready || len(t.awaiting) == 0 {
		return
	}
	t.core.after(streamReopenDelay, func() {
		if !conn.draining && !t.core.closing {
			_ = t.openResponseStream(conn) // the next request reports the error
		}
	})
}

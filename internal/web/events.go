package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits of connections that follow a run.
const (
	updateInterval    = 500 * time.Millisecond // between two states
	keepAliveInterval = 15 * time.Second       // of silence before a comment keeps the connection open
	writeTimeout      = 10 * time.Second       // for a client that does not read
	maxFollowers      = 64
	retryAfter        = 1000 // ms before a browser reconnects
)

// cursor is what a client has received: trials of a run, and seconds of the current load. It is
// the ID of the last event, so that a client that reconnects, also to another server, receives
// everything once.
type cursor struct {
	run                   string
	trials, load, seconds int
}

func (c cursor) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", c.run, c.trials, c.load, c.seconds)
}

// cursorOf reads a Last-Event-ID; an invalid ID is the zero cursor.
func cursorOf(id string) (c cursor) {
	part := bytes.SplitN([]byte(id), []byte("/"), 2)
	if len(part) != 2 {
		return cursor{}
	}
	if _, err := fmt.Sscanf(string(part[1]), "%d/%d/%d", &c.trials, &c.load, &c.seconds); err != nil {
		return cursor{}
	}
	c.run = string(part[0])
	return c
}

// after returns the state without what c has, the next cursor, and a channel that closes when the
// state changes.
func (l *live) after(c cursor) (State, cursor, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	next := cursor{trials: len(s.Trials), load: s.load, seconds: len(s.Seconds)}
	if s.Run != nil {
		next.run = s.Run.ID
	}
	if c.run == next.run && 0 <= c.trials && c.trials <= next.trials {
		s.FromTrial = c.trials
		if c.load == next.load && 0 <= c.seconds && c.seconds <= next.seconds {
			s.FromSecond = c.seconds
		}
	}
	// Elements of these slices never change, so clients can read them without the lock.
	s.Trials, s.Seconds = s.Trials[s.FromTrial:], s.Seconds[s.FromSecond:]
	return s, next, l.changed
}

// now returns the whole state.
func (s *Server) now(*http.Request) (any, error) {
	state, _, _ := s.live.after(cursor{})
	return state, nil
}

var followers atomic.Int32

// events sends the state whenever it changes, at most twice a second (server-sent events,
// HTML Living Standard, section 9.2).
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	defer followers.Add(-1)
	if followers.Add(1) > maxFollowers {
		s.refuse(w, r, problem{http.StatusServiceUnavailable, "Too many pages follow the run; close some of them."})
		return
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the deadline of requests would end the connection
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer supports deadlines
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	if !send(fmt.Sprintf("retry: %d\n\n", retryAfter)) {
		return
	}
	seen := cursorOf(r.Header.Get("Last-Event-ID"))
	for {
		state, next, changed := s.live.after(seen)
		data, err := json.Marshal(state)
		if err != nil || !send(fmt.Sprintf("id: %s\nevent: state\ndata: %s\n\n", next, data)) {
			return
		}
		seen = next
		if !s.waitForChange(r, changed, send) {
			return
		}
	}
}

// waitForChange waits for a new state, at least updateInterval after the last. It returns false if
// the connection ends; before the server closes, it lets the last state through.
func (s *Server) waitForChange(r *http.Request, changed <-chan struct{}, send func(string) bool) bool {
	enough := time.NewTimer(updateInterval)
	defer enough.Stop()
	select {
	case <-enough.C:
	case <-r.Context().Done():
		return false
	case <-s.live.done:
		select {
		case <-changed: // send the last state first
			return true
		default:
			return false
		}
	}
	for {
		silent := time.NewTimer(keepAliveInterval)
		select {
		case <-changed:
			silent.Stop()
			return true
		case <-silent.C:
			if !send(": nothing new\n\n") {
				return false
			}
		case <-r.Context().Done():
			silent.Stop()
			return false
		case <-s.live.done:
			silent.Stop()
			select {
			case <-changed:
				return true
			default:
				return false
			}
		}
	}
}

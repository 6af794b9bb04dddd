package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Bounds of connections that follow a run.
const (
	pause        = 500 * time.Millisecond // between two states
	beat         = 15 * time.Second       // of silence after which a comment says that all is well
	patience     = 10 * time.Second       // with who does not read
	mostFollow   = 64
	resumeWithin = 1000 // ms after which a browser that lost the connection comes back
)

// cursor is what who follows has: trials of a run, and seconds of the trial that runs. It
// is the id of the event that brought it there, so that who comes back after a lost
// connection, also to another server, gets what came since, and nothing twice.
type cursor struct {
	run                    string
	trials, order, seconds int
}

func (c cursor) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", c.run, c.trials, c.order, c.seconds)
}

// cursorOf reads a Last-Event-ID; what is none has seen nothing.
func cursorOf(id string) (c cursor) {
	part := bytes.SplitN([]byte(id), []byte("/"), 2)
	if len(part) != 2 {
		return cursor{}
	}
	if _, err := fmt.Sscanf(string(part[1]), "%d/%d/%d", &c.trials, &c.order, &c.seconds); err != nil {
		return cursor{}
	}
	c.run = string(part[0])
	return c
}

// after is the state without what c has, where that leads to, and what closes when it
// changes.
func (l *live) after(c cursor) (State, cursor, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	next := cursor{trials: len(s.Trials), order: -1, seconds: len(s.Seconds)}
	if s.Run != nil {
		next.run = s.Run.ID
	}
	if s.Now != nil {
		next.order = s.Now.Order
	}
	if c.run == next.run && 0 <= c.trials && c.trials <= next.trials {
		s.FromTrial = c.trials
		if c.order == next.order && 0 <= c.seconds && c.seconds <= next.seconds {
			s.FromSecond = c.seconds
		}
	}
	// What lies before the ends of these is never written again: they can be read without lock.
	s.Trials, s.Seconds = s.Trials[s.FromTrial:], s.Seconds[s.FromSecond:]
	return s, next, l.changed
}

// now is the whole state.
func (s *Server) now(*http.Request) (any, error) {
	state, _, _ := s.live.after(cursor{})
	return state, nil
}

var following atomic.Int32

// events sends the state whenever it changes, at most twice a second (server-sent events,
// HTML Living Standard, section 9.2).
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	defer following.Add(-1)
	if following.Add(1) > mostFollow {
		s.refuse(w, r, problem{http.StatusServiceUnavailable, "Too many pages follow the run; close some."})
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(patience)) // who cannot set one writes without
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	if !send(fmt.Sprintf("retry: %d\n\n", resumeWithin)) {
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
		if !s.rest(r, changed, send) {
			return
		}
	}
}

// rest waits until there is something new to say and time has passed since the last; false:
// it ends. Who follows when the server ends has heard the last state.
func (s *Server) rest(r *http.Request, changed <-chan struct{}, send func(string) bool) bool {
	enough := time.NewTimer(pause)
	defer enough.Stop()
	select {
	case <-enough.C:
	case <-r.Context().Done():
		return false
	case <-s.live.ended:
		select {
		case <-changed: // say this before
			return true
		default:
			return false
		}
	}
	for {
		silent := time.NewTimer(beat)
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
		case <-s.live.ended:
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

package process

import (
	"bytes"
	"strings"
	"sync"
)

// maxTail is the number of bytes of a log that are kept, about twenty lines.
const maxTail = 4 << 10

// tail is a writer that keeps the end of what was written.
type tail struct {
	mu  sync.Mutex
	end []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - maxTail; over > 0 {
		t.end = bytes.Clone(t.end[over:])
		t.cut = true
	}
	return len(p), nil
}

// String returns the last whole lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.end)
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}

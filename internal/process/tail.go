package process

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// maxTail is the number of bytes of a log that are kept, about twenty lines.
const maxTail = 4 << 10

// tail is a writer that keeps the end of what was written, and the line in which Go's runtime says why it ends the
// process, because the stacks after that line are longer than the end.
type tail struct {
	mu    sync.Mutex
	end   []byte
	cut   bool
	fatal string
}

// fatalLine matches that line: fatal error: runtime: cannot allocate memory.
var fatalLine = regexp.MustCompile(`(?m)^(fatal error|panic): .*\n`)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if t.fatal == "" {
		t.fatal = string(bytes.TrimSpace(fatalLine.Find(t.end))) // empty while the line is not whole
	}
	if over := len(t.end) - maxTail; over > 0 {
		t.end = bytes.Clone(t.end[over:])
		t.cut = true
	}
	return len(p), nil
}

// String returns the last whole lines, or the end of a line that is longer than what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.end)
	if t.cut {
		if _, whole, _ := strings.Cut(text, "\n"); strings.TrimSpace(whole) != "" {
			text = whole
		} else {
			text = "…" + text
		}
	}
	if !strings.Contains(text, t.fatal) {
		return t.fatal + "\n…\n" + strings.TrimSpace(text)
	}
	return strings.TrimSpace(text)
}

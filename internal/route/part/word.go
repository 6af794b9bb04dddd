package part

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// serving begins the line by which a program of our own says that it serves.
const serving = "serving "

// Say says on standard output where a program of our own listens, now that it serves. It
// is the proof that it is this one that does: whoever else has the address says nothing.
func Say(stdout io.Writer, at net.Addr) error {
	_, err := fmt.Fprintf(stdout, "%s%s\n", serving, at)
	return err
}

// word is the standard output of a part that has to [Say] where it listens.
type word struct {
	mu   sync.Mutex
	said strings.Builder // the beginning
}

// Write implements io.Writer; only the beginning is of use.
func (w *word) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said.Write(p[:min(len(p), max(0, 256-w.said.Len()))])
	return len(p), nil
}

// address is where the process said that it listens.
func (w *word) address() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line, _, whole := strings.Cut(w.said.String(), "\n")
	address, ok := strings.CutPrefix(line, serving)
	if !whole || !ok {
		return "", errors.New("it has not said where it listens")
	}
	return address, nil
}

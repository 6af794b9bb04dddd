package security

// WindowSize is how many of a client's latest messages a [Window] distinguishes.
const WindowSize = 8192

// Window detects repeated messages of a client: the sliding window of RFC 4303, section 3.4.3. It
// accepts each message number once, in any order, unless the number is more than [WindowSize]
// below the highest. The zero value has accepted none. It is not safe for concurrent use.
type Window struct {
	next uint64 // the highest number plus one
	seen [WindowSize / 64]uint64
}

// Accept reports whether a message with this number is new, and marks the number as seen.
func (w *Window) Accept(n uint64) bool {
	if n+WindowSize < w.next || n+1 == 0 {
		return false // too old: the window no longer knows whether it saw the number
	}
	if n >= w.next {
		if n-w.next >= WindowSize {
			w.seen = [WindowSize / 64]uint64{}
		} else {
			for i := w.next; i <= n; i++ {
				w.seen[i/64%(WindowSize/64)] &^= 1 << (i % 64)
			}
		}
		w.next = n + 1
	}
	word, bit := n/64%(WindowSize/64), uint64(1)<<(n%64)
	if w.seen[word]&bit != 0 {
		return false
	}
	w.seen[word] |= bit
	return true
}

package security

// WindowSize is how many of a client's latest messages a [Window] distinguishes.
const WindowSize = 8192

// Window detects repeated messages of a client. It accepts each number once, in any order, up to
// [WindowSize] behind the highest (the sliding window of RFC 4303, section 3.4.3). The zero
// value has accepted none. It is not safe for concurrent use.
type Window struct {
	next uint64 // the highest number plus one
	seen [WindowSize / 64]uint64
}

// Take reports whether a message with this number is new.
func (w *Window) Take(n uint64) bool {
	if n+WindowSize < w.next || n+1 == 0 {
		return false // too old to tell
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
	at, bit := n/64%(WindowSize/64), uint64(1)<<(n%64)
	if w.seen[at]&bit != 0 {
		return false
	}
	w.seen[at] |= bit
	return true
}

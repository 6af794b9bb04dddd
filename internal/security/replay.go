package security

// Remembered is how many of a client's latest messages a [Window] tells apart.
const Remembered = 8192

// Window knows which of a client's messages have come: each number once, in any order, up to
// [Remembered] behind the highest (the sliding window of RFC 4303, 3.4.3). Its memory is
// constant. The zero value has seen none; one goroutine may use it at a time.
type Window struct {
	next uint64 // the highest number, and one
	seen [Remembered / 64]uint64
}

// Take says whether a message with this number comes for the first time.
func (w *Window) Take(n uint64) bool {
	if n+Remembered < w.next || n+1 == 0 {
		return false // it may have come, or not
	}
	if n >= w.next {
		if n-w.next >= Remembered {
			w.seen = [Remembered / 64]uint64{}
		} else {
			for i := w.next; i <= n; i++ {
				w.seen[i/64%(Remembered/64)] &^= 1 << (i % 64)
			}
		}
		w.next = n + 1
	}
	at, bit := n/64%(Remembered/64), uint64(1)<<(n%64)
	if w.seen[at]&bit != 0 {
		return false
	}
	w.seen[at] |= bit
	return true
}

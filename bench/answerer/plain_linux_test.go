package main

import (
	"strings"
	"testing"
)

func TestAnAddressThatIsNotIPv4IsRefused(t *testing.T) {
	if _, _, err := listenOn("[::1]:0", plainAnswers()); err == nil || !strings.Contains(err.Error(), "not an IPv4 address") {
		t.Errorf("error %v, want that it is not an IPv4 address", err)
	}
}

func TestPlainRequestsInPiecesAreAnsweredInOrder(t *testing.T) {
	const requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
	answers := plainAnswers()
	for size := 1; size <= len(requests); size++ {
		c := connection{answers: &answers}
		for b := requests; b != ""; b = b[min(size, len(b)):] {
			if err := c.feed([]byte(b[:min(size, len(b))])); err != nil {
				t.Fatal(err)
			}
		}
		if string(c.out) != strings.Repeat(hello, 2) || c.calls != 2 {
			t.Errorf("in pieces of %d bytes: %d calls with the answers %q, want 2 calls with %q each", size, c.calls, c.out, hello)
		}
	}
}

package main

import "bytes"

const hello = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, rpclab"

// plainRequests counts the HTTP/1.1 requests without a body in b, each of which ends with an empty
// line, and returns what follows them.
func plainRequests(b []byte) (n int, rest []byte) {
	for {
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			return n, b
		}
		n, b = n+1, b[end+4:]
	}
}

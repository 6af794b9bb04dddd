package main

import "bytes"

const hello = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, rpclab"

// plainAnswers answer HTTP/1.1 requests without a body.
func plainAnswers() answers { return answers{next: []byte(hello), plain: true} }

// feedPlain answers the requests in b, each of which ends with an empty line, and returns the rest.
func (c *connection) feedPlain(b []byte) []byte {
	for {
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			return b
		}
		c.calls++
		c.out = append(c.out, c.answers.next...)
		b = b[end+4:]
	}
}

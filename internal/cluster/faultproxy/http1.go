package faultproxy

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"rpclab/internal/workload"
)

// pipelined is how many HTTP/1.1 requests of a connection may wait for their responses.
const pipelined = 16

// pendingRequest is an HTTP/1.1 request whose response is to come.
type pendingRequest struct {
	*http.Request
	fault workload.Fault
	asked time.Time // when it was sent to the backend
	done  *sync.WaitGroup
	// switched is true once the backend has answered with 101 Switching Protocols. Read it after done.
	switched *bool
}

// passHTTP1Requests passes on the requests of a client, one after another.
func (c *connection) passHTTP1Requests(pending chan<- pendingRequest) error {
	end := sync.OnceFunc(func() { close(pending) })
	defer end()
	var unanswered sync.WaitGroup
	for {
		c.client.head.begin()
		request, err := http.ReadRequest(c.client.in)
		c.client.head.end()
		if err != nil {
			return err
		}
		if strings.EqualFold(request.Header.Get("Expect"), "100-continue") {
			request.Header.Del("Expect")
			c.client.send(func() { _, _ = io.WriteString(c.client.out, "HTTP/1.1 100 Continue\r\n\r\n") })
		}
		c.proxy.begun.Add(1)
		fault := *c.proxy.fault.Load()
		if fault.Fails() {
			_, err := io.Copy(io.Discard, request.Body)
			unanswered.Wait()
			failure := &http.Response{StatusCode: httpStatus(fault.Code), ProtoMajor: 1, ProtoMinor: 1, Request: request, Close: request.Close, Header: http.Header{}}
			c.client.send(func() { _ = failure.Write(c.client.out) })
			if err != nil || request.Close {
				return err
			}
			continue
		}
		if !containsHeader(request.Header, "User-Agent") {
			request.Header["User-Agent"] = nil // or Write adds one
		}
		unanswered.Add(1)
		// The response may come before the end of the request.
		switched := false
		pending <- pendingRequest{request, fault, time.Now(), &unanswered, &switched}
		c.backend.mu.Lock()
		err = request.Write(c.backend.out)
		_ = c.backend.out.Flush()
		c.backend.mu.Unlock()
		if err != nil {
			return err
		}
		if !containsHeader(request.Header, "Upgrade") {
			continue
		}
		if unanswered.Wait(); switched { // what follows is not HTTP/1.1
			if _, err := io.Copy(c.backend.conn, c.client.in); err != nil {
				return err
			}
			_ = c.backend.conn.CloseWrite()
			end()
			<-c.ended
			return io.EOF
		}
	}
}

func containsHeader(header http.Header, name string) bool {
	_, ok := header[name]
	return ok
}

// passHTTP1Responses passes on the responses to pending requests, each after the delay of its fault.
func (c *connection) passHTTP1Responses(pending <-chan pendingRequest) (err error) {
	defer func() {
		c.client.end(err) // so that no further requests follow
		for request := range pending {
			request.done.Done()
		}
	}()
	for {
		if _, err := c.backend.in.Peek(1); err != nil {
			return err
		}
		request, ok := <-pending
		if !ok {
			return io.EOF
		}
		err := c.passHTTP1Response(request)
		request.done.Done()
		if *request.switched && err == nil {
			_, err = io.Copy(c.client.conn, c.backend.in)
			return cmp.Or(err, io.EOF)
		}
		if err != nil {
			return err
		}
	}
}

func (c *connection) passHTTP1Response(request pendingRequest) error {
	for {
		c.backend.head.begin()
		response, err := http.ReadResponse(c.backend.in, request.Request)
		c.backend.head.end()
		if err != nil {
			return err
		}
		*request.switched = response.StatusCode == http.StatusSwitchingProtocols
		final := *request.switched || response.StatusCode >= http.StatusOK
		if final {
			time.Sleep(request.fault.Delay(time.Since(request.asked)))
		}
		if response.Body != http.NoBody {
			response.Body = &parts{ReadCloser: response.Body, c: c}
		}
		// The body flushes c.client.out, which must not read from it (ReadFrom) at that time.
		c.client.send(func() { err = response.Write(struct{ io.Writer }{c.client.out}) })
		if err != nil || final {
			return err
		}
	}
}

// parts is the body of a response. It sends the parts that have come to the client before it waits for the next, as a
// stream of events needs. It does not send the head alone if the first part came with it.
type parts struct {
	io.ReadCloser
	c     *connection
	begun bool
}

func (p *parts) Read(b []byte) (int, error) {
	if p.begun || p.c.backend.in.Buffered() == 0 {
		_ = p.c.client.out.Flush() // a later write returns the error
	}
	p.begun = true
	return p.ReadCloser.Read(b)
}

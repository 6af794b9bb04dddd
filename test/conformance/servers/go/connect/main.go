// Command connect serves testdata/streams.proto with connect-go on the address of its argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// note has the same encoding as test.Note.
type note = wrapperspb.StringValue

// calls counts the calls of each method.
type calls struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *calls) add(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[method]++
}

func (c *calls) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, method := range slices.Sorted(maps.Keys(c.counts)) {
		all = append(all, fmt.Sprintf("%s=%d", method, c.counts[method]))
	}
	return strings.Join(all, " ")
}

func main() {
	seen := &calls{counts: map[string]int{}}
	mux := http.NewServeMux()
	const service = "/test.Streams/"
	mux.Handle(service+"Once", connect.NewUnaryHandler(service+"Once", func(_ context.Context, r *connect.Request[note]) (*connect.Response[note], error) {
		seen.add("Once")
		return connect.NewResponse(r.Msg), nil
	}))
	mux.Handle(service+"Calls", connect.NewUnaryHandler(service+"Calls", func(context.Context, *connect.Request[note]) (*connect.Response[note], error) {
		return connect.NewResponse(wrapperspb.String(seen.String())), nil
	}))
	mux.Handle(service+"Repeat", connect.NewServerStreamHandler(service+"Repeat", func(_ context.Context, r *connect.Request[note], answers *connect.ServerStream[note]) error {
		seen.add("Repeat")
		for range 3 {
			if err := answers.Send(r.Msg); err != nil {
				return err
			}
		}
		return nil
	}))
	mux.Handle(service+"Join", connect.NewClientStreamHandler(service+"Join", func(_ context.Context, notes *connect.ClientStream[note]) (*connect.Response[note], error) {
		seen.add("Join")
		n := 0
		for notes.Receive() {
			n++
		}
		return connect.NewResponse(wrapperspb.String(fmt.Sprint(n))), notes.Err()
	}))
	mux.Handle(service+"Echo", connect.NewBidiStreamHandler(service+"Echo", func(_ context.Context, stream *connect.BidiStream[note, note]) error {
		seen.add("Echo")
		for {
			message, err := stream.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = stream.Send(message)
			}
			if err != nil {
				return err
			}
		}
	}))
	server := &http.Server{Addr: os.Args[1], Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	log.Fatal(server.ListenAndServe())
}

// Package raw lets grpc-go send messages that are already encoded, and check responses without keeping them.
package raw

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// Response is a response that was checked and not kept. It is what grpc-go decodes into.
type Response struct {
	Decode  func([]byte) error // returns why a response is invalid; nil: every response is accepted
	Size    int                // in bytes
	Invalid error              // an [InvalidError]; nil: the response is valid
}

// InvalidError is the error of a response that cannot be decoded.
type InvalidError struct{ error }

// Unwrap returns what Decode returned.
func (e InvalidError) Unwrap() error { return e.error }

// Codec sends []byte as they are and decodes into [Response], or into an int its size.
type Codec struct{}

// Name is that of protobuf, so that the content type is too.
func (Codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2 of grpc-go.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(message)}, nil
}

// Unmarshal implements encoding.CodecV2 of grpc-go.
func (Codec) Unmarshal(message mem.BufferSlice, v any) error {
	if response, ok := v.(*Response); ok {
		response.Size = message.Len()
		if response.Decode != nil {
			if err := response.Decode(contiguous(message)); err != nil {
				response.Invalid = InvalidError{err}
			}
		}
		return nil
	}
	size, ok := v.(*int)
	if !ok {
		return fmt.Errorf("%T is not *int", v)
	}
	*size = message.Len()
	return nil
}

// contiguous returns the bytes of a message, which are valid as long as the message.
func contiguous(message mem.BufferSlice) []byte {
	if len(message) == 1 {
		return message[0].ReadOnlyData()
	}
	return message.Materialize()
}

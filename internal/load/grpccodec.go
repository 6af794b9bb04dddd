package load

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// response is a response that was checked and not kept.
type response struct {
	decode  func([]byte) error // nil: every response is accepted
	size    int
	invalid error // an invalidResponse; nil: it can be decoded
}

// invalidResponse is the error of a response that cannot be decoded.
type invalidResponse struct{ error }

// rawCodec sends messages that are already encoded and decodes only the size of responses.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(message)}, nil
}

func (rawCodec) Unmarshal(message mem.BufferSlice, v any) error {
	if response, ok := v.(*response); ok {
		response.size = message.Len()
		if response.decode != nil {
			if err := response.decode(contiguous(message)); err != nil {
				response.invalid = invalidResponse{err}
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

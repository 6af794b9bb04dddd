package workload

import "google.golang.org/protobuf/proto"

// BackendTrailer is the trailing metadata key with the identity of the backend, in every response.
const BackendTrailer = "rpclab-backend"

// Unary describes a workload's calls to callers.
type Unary struct {
	Method string // full name with slashes
	// Stream is the streaming method that answers the same requests as messages; empty: none.
	// The identity is in its header.
	Stream string
	// Path accepts the request as a JSON POST and returns the reply as JSON; empty: none.
	Path string
	// SameRequest means that every call sends the same request. ConstantReply means that each
	// backend also answers every call with the same reply.
	SameRequest, ConstantReply bool
	// Request returns call n's message, which may be shared and must not be modified.
	Request func(n uint64) proto.Message
	// Reply returns an empty message for a response.
	Reply func() proto.Message
	// Check returns what is wrong with call n's answer, given the identity in its trailer. It is
	// safe for concurrent use.
	Check func(n uint64, reply proto.Message, backend string) error
}

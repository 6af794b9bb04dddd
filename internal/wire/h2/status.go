package h2

import (
	"fmt"
	"strconv"
)

// Status is a gRPC status with a code of 0 to 16; 0 is OK. For an HTTP request the code is the
// HTTP status, 100 or more. A code of gRPC that the specification does not define has the bit
// [Undefined].
type Status struct {
	Code    uint32
	Message string
}

// The codes that this side sets.
const (
	OK                 = 0
	Cancelled          = 1
	Unknown            = 2
	InvalidArgument    = 3
	DeadlineExceeded   = 4
	PermissionDenied   = 7
	ResourceExhausted  = 8
	FailedPrecondition = 9
	Unimplemented      = 12
	Internal           = 13
	Unavailable        = 14
	DataLoss           = 15
	Unauthenticated    = 16 // the last that the specification defines
)

// InvalidResponse is the code of a response that cannot be decoded. gRPC does not define it.
const InvalidResponse = 99

// CheckFailed is the code of a response that does not meet the condition of the user. gRPC does not
// define it.
const CheckFailed = 98

// Undefined marks the code of a server that the specification does not define.
const Undefined = 1 << 31

// OfGRPC returns the status of a grpc-status.
func OfGRPC(code int, message string) Status {
	if code > Unauthenticated {
		return Status{Undefined | uint32(code), message}
	}
	return Status{uint32(code), message}
}

var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// Name returns the code as the gRPC specification writes it. A code that the specification does not
// define is CODE_4242, for example, and an HTTP status HTTP_404.
func (s Status) Name() string {
	switch {
	case int(s.Code) < len(codeNames):
		return codeNames[s.Code]
	case s.Code == InvalidResponse:
		return "INVALID_RESPONSE"
	case s.Code == CheckFailed:
		return "CHECK"
	case s.Code&Undefined != 0:
		return "CODE_" + strconv.Itoa(int(s.Code&^Undefined))
	case s.Code >= 100:
		return "HTTP_" + strconv.Itoa(int(s.Code))
	}
	return codeNames[Unknown]
}

// Refused is the status of a stream that the peer refused: it did not process the request (RFC 9113, section 8.7).
var Refused = ofReset(RefusedStream)

// ofReset returns the status of a stream that the peer reset: "Errors" of the gRPC over HTTP/2
// specification.
func ofReset(code ErrorCode) Status {
	s := Status{Internal, fmt.Sprintf("the server reset the stream: %s", code)}
	switch code {
	case RefusedStream:
		s.Code = Unavailable
	case Cancel:
		s.Code = Cancelled
	case EnhanceYourCalm:
		s.Code = ResourceExhausted
	case 0xc: // INADEQUATE_SECURITY
		s.Code = PermissionDenied
	}
	return s
}

// OfHTTP returns the status of a response without grpc-status: "HTTP to gRPC Status Code Mapping"
// of the specification. A response of 200 needs a grpc-status too.
func OfHTTP(status int) Status {
	s := Status{Unknown, "the server responded with HTTP " + strconv.Itoa(status) + " without grpc-status"}
	switch status {
	case 0:
		s = Status{Internal, "the server ended the stream without a response"}
	case 200:
		s = Status{Internal, "the server ended the stream without grpc-status"}
	case 400:
		s.Code = Internal
	case 401:
		s.Code = Unauthenticated
	case 403:
		s.Code = PermissionDenied
	case 404:
		s.Code = Unimplemented
	case 429, 502, 503, 504:
		s.Code = Unavailable
	}
	return s
}

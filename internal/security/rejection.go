package security

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is why a call or connection was rejected.
type Reason string

// Reasons for which servers reject calls and connections.
const (
	NoToken            Reason = "no-token"
	BadToken           Reason = "bad-token"
	ExpiredToken       Reason = "expired-token"
	WrongAudience      Reason = "wrong-audience"
	UnknownCA          Reason = "unknown-ca"
	ExpiredCertificate Reason = "expired-certificate"
	BadHandshake       Reason = "bad-handshake" // other failed TLS handshakes
	NoEncryption       Reason = "no-encryption"
	WrongClient        Reason = "wrong-client" // the clients in metadata, token and certificate differ
	BadSignature       Reason = "bad-signature"
	Replayed           Reason = "replayed"
	Malformed          Reason = "malformed"
)

// Reasons lists every reason.
var Reasons = []Reason{NoToken, BadToken, ExpiredToken, WrongAudience, UnknownCA, ExpiredCertificate, BadHandshake,
	NoEncryption, WrongClient, BadSignature, Replayed, Malformed}

// Rejection is the error of a rejected call.
type Rejection struct {
	Reason Reason
	Err    error
}

func (r Rejection) Error() string { return fmt.Sprintf("rejected (%s): %v", r.Reason, r.Err) }

// Unwrap returns the cause.
func (r Rejection) Unwrap() error { return r.Err }

// GRPCStatus returns UNAUTHENTICATED if the client's identity is not proven, PERMISSION_DENIED if
// it belongs to another client, and INVALID_ARGUMENT for a malformed message.
func (r Rejection) GRPCStatus() *status.Status {
	code := codes.Unauthenticated
	switch r.Reason {
	case WrongClient, Replayed:
		code = codes.PermissionDenied
	case Malformed:
		code = codes.InvalidArgument
	}
	return status.New(code, r.Error())
}

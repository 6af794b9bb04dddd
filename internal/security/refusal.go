package security

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is why somebody was turned away.
type Reason string

// The reasons for which servers turn calls and connections away.
const (
	NoToken            Reason = "no-token"
	BadToken           Reason = "bad-token"
	ExpiredToken       Reason = "expired-token"
	WrongAudience      Reason = "wrong-audience"
	UnknownCA          Reason = "unknown-ca"
	ExpiredCertificate Reason = "expired-certificate"
	BadHandshake       Reason = "bad-handshake" // for any other cause
	NoEncryption       Reason = "no-encryption"
	WrongClient        Reason = "wrong-client" // the metadata says another one than token or certificate
	BadSignature       Reason = "bad-signature"
	Replayed           Reason = "replayed"
	Garbled            Reason = "garbled"
)

// Reasons are all of them.
var Reasons = []Reason{NoToken, BadToken, ExpiredToken, WrongAudience, UnknownCA, ExpiredCertificate, BadHandshake,
	NoEncryption, WrongClient, BadSignature, Replayed, Garbled}

// Refusal is the error of a call that was turned away.
type Refusal struct {
	Reason Reason
	Err    error
}

func (r Refusal) Error() string { return fmt.Sprintf("refused, %s: %v", r.Reason, r.Err) }

// Unwrap returns what was found.
func (r Refusal) Unwrap() error { return r.Err }

// GRPCStatus is what the client gets: who it is does not hold (UNAUTHENTICATED), what it is not
// (PERMISSION_DENIED), or what it said makes no sense (INVALID_ARGUMENT).
func (r Refusal) GRPCStatus() *status.Status {
	code := codes.Unauthenticated
	switch r.Reason {
	case WrongClient, Replayed:
		code = codes.PermissionDenied
	case Garbled:
		code = codes.InvalidArgument
	}
	return status.New(code, r.Error())
}

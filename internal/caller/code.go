package caller

import (
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
)

// Code is the name of an error's gRPC status code as the specification writes it:
// DEADLINE_EXCEEDED. An error that is no status is UNKNOWN.
func Code(err error) string {
	if err == nil {
		return measure.OK
	}
	code := status.Code(err)
	if code == codes.Canceled {
		return "CANCELLED" // grpc-go spells it the American way
	}
	var name strings.Builder
	for i, r := range code.String() { // DeadlineExceeded
		if i > 0 && unicode.IsUpper(r) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(r))
	}
	return name.String()
}

package caller

import (
	"strings"
	"unicode"

	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
)

// Code is the name of an error's gRPC status code as the specification writes it:
// DEADLINE_EXCEEDED. An error that is no status is UNKNOWN.
func Code(err error) string {
	if err == nil {
		return measure.OK
	}
	var name strings.Builder
	for i, r := range status.Code(err).String() { // DeadlineExceeded
		if i > 0 && unicode.IsUpper(r) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(r))
	}
	return name.String()
}

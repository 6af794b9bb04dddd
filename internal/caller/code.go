package caller

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
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

// Refused is the outcome of a call of a REST service whose status is not 200: the gRPC code
// that is nearest to it, and to what servers of the contract mean by it, with what the server
// said of it.
func Refused(status int, body []byte) h2.Status {
	var said struct{ Error string }
	if err := json.Unmarshal(body, &said); err != nil || said.Error == "" {
		said.Error = fmt.Sprintf("%.200q", body)
	}
	why := h2.OfHTTP(status)
	if status == http.StatusBadRequest {
		why.Code = h2.InvalidArgument
	}
	why.Message = fmt.Sprintf("HTTP %d: %s", status, said.Error)
	return why
}

package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// DataLoss is the code of a call with a wrong response.
const DataLoss = "DATA_LOSS"

// Code returns the name of an error's gRPC status code as the specification spells it, such
// as DEADLINE_EXCEEDED. An error without a status is UNKNOWN.
func Code(err error) string {
	if err == nil {
		return measure.OK
	}
	code := status.Code(err)
	switch {
	case code == codes.Canceled:
		return "CANCELLED" // grpc-go spells it Canceled
	case code > codes.Unauthenticated: // the specification does not define it
		return h2.OfGRPC(int(code), "").Name()
	}
	var name strings.Builder
	for i, letter := range code.String() { // DeadlineExceeded
		if i > 0 && unicode.IsUpper(letter) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(letter))
	}
	return name.String()
}

// TransportCode returns the gRPC code nearest to the error of a connection.
func TransportCode(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, context.Canceled):
		return "CANCELLED"
	}
	return "UNAVAILABLE"
}

// RESTStatus maps an HTTP status other than 200 to the nearest gRPC status (servers/CONTRACT.md).
// The message contains the error in the body.
func RESTStatus(status int, body []byte) h2.Status {
	var answer struct{ Error string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error == "" {
		answer.Error = fmt.Sprintf("%.200q", body)
	}
	mapped := h2.OfHTTP(status)
	if status == http.StatusBadRequest {
		mapped.Code = h2.InvalidArgument
	}
	mapped.Message = fmt.Sprintf("HTTP %d: %s", status, answer.Error)
	return mapped
}

package h2

import (
	"encoding/base64"
	"strings"
)

// AppendMetadata appends gRPC metadata as fields, values of -bin keys as base64 (gRPC over HTTP/2,
// Binary-Header).
func AppendMetadata(to []Field, md map[string][]string) []Field {
	for name, values := range md {
		for _, value := range values {
			if strings.HasSuffix(name, "-bin") {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			to = append(to, Field{Name: name, Value: value})
		}
	}
	return to
}

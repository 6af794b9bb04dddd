package load

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/load/request"
)

// headers parses metadata of the form "key: value".
func (s Settings) headers() (http.Header, error) {
	all := http.Header{}
	for _, line := range s.Metadata {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, request.Invalidf("--metadata %q: use the form key: value", line)
		}
		if strings.Contains(value, "{{") {
			return nil, request.Invalidf("--metadata %q: templates are supported in the data only", line)
		}
		all.Add(key, value)
	}
	if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, s.HTTP) && all.Get("Content-Type") == "" {
		all.Set("Content-Type", "application/json")
	}
	return all, nil
}

// reservedHeaders are set by gRPC or forbidden in HTTP/2 (RFC 9113, section 8.2.2).
var reservedHeaders = []string{"content-type", "te", "user-agent", "host", "content-length", "transfer-encoding",
	"connection", "keep-alive", "proxy-connection", "upgrade"}

// grpcMetadata converts headers to gRPC metadata. Values of keys that end in -bin are base64
// (gRPC over HTTP/2, Binary-Header).
func grpcMetadata(all http.Header) (metadata.MD, error) {
	md := metadata.MD{}
	for key, values := range all {
		key = strings.ToLower(key)
		if slices.Contains(reservedHeaders, key) || strings.HasPrefix(key, "grpc-") {
			return nil, request.Invalidf("--metadata %s: gRPC sets this header itself: leave it out", key)
		}
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				if err != nil {
					return nil, request.Invalidf("--metadata %s: %q is not base64, which keys ending in -bin require", key, value)
				}
				value = string(data)
			}
			md.Append(key, value)
		}
	}
	return md, nil
}

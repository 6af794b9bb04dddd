package load

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/load/request"
)

// headers reads metadata of the form "key: value".
func (s Settings) headers() (http.Header, error) {
	all := http.Header{}
	for _, line := range s.Metadata {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, request.Wrongf("--metadata %q: write key: value", line)
		}
		if strings.Contains(value, "{{") {
			return nil, request.Wrongf("--metadata %q: the same goes with every call: templates are for the data", line)
		}
		all.Add(key, value)
	}
	if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, s.HTTP) && all.Get("Content-Type") == "" {
		all.Set("Content-Type", "application/json")
	}
	return all, nil
}

// reserved are header fields that gRPC over HTTP/2 fills in, or that HTTP/2 has not
// (RFC 9113, section 8.2.2).
var reserved = []string{"content-type", "te", "user-agent", "host", "content-length", "transfer-encoding",
	"connection", "keep-alive", "proxy-connection", "upgrade"}

// grpcMetadata is headers as gRPC carries them. Keys that end in -bin have bytes,
// which are given in base64 (gRPC over HTTP/2, Binary-Header).
func grpcMetadata(all http.Header) (metadata.MD, error) {
	md := metadata.MD{}
	for key, values := range all {
		key = strings.ToLower(key)
		if slices.Contains(reserved, key) || strings.HasPrefix(key, "grpc-") {
			return nil, request.Wrongf("--metadata %s: gRPC has its own: leave it out", key)
		}
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				if err != nil {
					return nil, request.Wrongf("--metadata %s: %q is not base64, which keys in -bin need", key, value)
				}
				value = string(data)
			}
			md.Append(key, value)
		}
	}
	return md, nil
}

package load

import (
	"encoding/base64"
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"
)

// headers reads metadata of the form "key: value".
func (s Settings) headers() (http.Header, error) {
	all := http.Header{}
	for _, line := range s.Metadata {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, wrongf("--metadata %q: write key: value", line)
		}
		all.Add(key, value)
	}
	if s.HTTP == http.MethodPost && all.Get("Content-Type") == "" {
		all.Set("Content-Type", "application/json")
	}
	return all, nil
}

// grpcMetadata is headers as gRPC carries them. Keys that end in -bin have bytes,
// which are given in base64 (gRPC over HTTP/2, Binary-Header).
func grpcMetadata(all http.Header) (metadata.MD, error) {
	md := metadata.MD{}
	for key, values := range all {
		key = strings.ToLower(key)
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				if err != nil {
					return nil, wrongf("--metadata %s: %q is not base64, which keys in -bin need", key, value)
				}
				value = string(data)
			}
			md.Append(key, value)
		}
	}
	return md, nil
}

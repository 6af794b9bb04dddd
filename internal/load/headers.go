package load

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/service"
	"rpclab/internal/service/data"
	"rpclab/internal/service/request"
)

// headers parses metadata of the form "key: value", except templates.
func (s Settings) headers() (http.Header, error) {
	all, typed := http.Header{}, false
	for _, line := range s.Metadata {
		key, value, err := splitMetadata(line)
		if err != nil {
			return nil, err
		}
		typed = typed || http.CanonicalHeaderKey(key) == "Content-Type"
		if !isTemplate(value) {
			all.Add(key, value)
		}
	}
	if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, s.HTTP) && !typed {
		all.Set("Content-Type", "application/json")
	}
	return all, nil
}

func splitMetadata(line string) (key, value string, err error) {
	key, value, ok := strings.Cut(line, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", "", request.Invalidf("--metadata %q: use the form key: value", line)
	}
	if !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
		return "", "", request.Invalidf("--metadata %q: HTTP cannot carry a character of it: use letters, digits and punctuation", line)
	}
	return key, value, nil
}

// metadataNames returns the names of the metadata, which [Settings.Check] has checked, sorted.
func (s Settings) metadataNames() []string {
	names := []string{}
	for _, line := range s.Metadata {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, strings.ToLower(strings.TrimSpace(name)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func isTemplate(value string) bool { return strings.Contains(value, "{{") }

// metadataTemplate is metadata with a value of its own in each call.
type metadataTemplate struct {
	key    string
	values *data.Messages
}

// templates parses the metadata that are templates.
func (s Settings) templates() (all metadataTemplates, err error) {
	for _, line := range s.Metadata {
		key, value, err := splitMetadata(line)
		if err != nil {
			return nil, err
		}
		if !isTemplate(value) {
			continue
		}
		values, err := data.Text("--metadata "+key, []byte(value))
		if err != nil {
			return nil, request.Invalid(err)
		}
		all = append(all, metadataTemplate{key, values})
	}
	return all, nil
}

type metadataTemplates []metadataTemplate

// For returns the metadata of a call.
func (all metadataTemplates) For(call data.Call) (http.Header, error) {
	headers := http.Header{}
	for _, one := range all {
		value, err := one.values.For(call)
		if err != nil {
			return nil, err
		}
		if !httpguts.ValidHeaderFieldValue(string(value)) {
			return nil, fmt.Errorf("--metadata %s: HTTP cannot carry the value %q", one.key, value)
		}
		headers.Add(one.key, string(value))
	}
	return headers, nil
}

// gRPC returns the metadata of a call as gRPC metadata.
func (all metadataTemplates) gRPC(call data.Call) (metadata.MD, error) {
	headers, err := all.For(call)
	if err != nil {
		return nil, err
	}
	return grpcMetadata(headers)
}

// grpcMetadata converts headers to gRPC metadata. Values of keys that end in -bin are base64
// (gRPC over HTTP/2, Binary-Header).
func grpcMetadata(all http.Header) (metadata.MD, error) {
	md := metadata.MD{}
	for key, values := range all {
		key = strings.ToLower(key)
		if service.IsReserved(key) {
			return nil, request.Invalidf("--metadata %s: gRPC sets this header itself: leave it out%s", key, map[string]string{"user-agent": ", and use --user-agent", "host": ", and use --authority", "grpc-encoding": ", and use --compress"}[key])
		}
		for _, value := range values {
			decoded, err := service.DecodeMetadata(key, value)
			if err != nil {
				return nil, request.Invalidf("--metadata %s: %w", key, err)
			}
			md.Append(key, decoded)
		}
	}
	return md, nil
}

// loadMetadata is gRPC metadata: fixed of every call, without templates, and first of the first call.
type loadMetadata struct{ fixed, first metadata.MD }

// callMetadata returns the metadata of calls and its templates.
func (s Settings) callMetadata() (md loadMetadata, templates metadataTemplates, err error) {
	headers, err := s.headers()
	if err != nil {
		return md, nil, err
	}
	if md.fixed, err = grpcMetadata(headers); err != nil {
		return md, nil, err
	}
	if templates, err = s.templates(); err != nil {
		return md, nil, err
	}
	varying, err := templates.gRPC(data.Call{})
	if err != nil {
		return md, nil, request.Invalid(err)
	}
	md.first = metadata.Join(md.fixed, varying)
	return md, templates, nil
}

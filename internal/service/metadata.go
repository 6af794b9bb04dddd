package service

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/service/data"
)

// callMetadata is the metadata of calls.
type callMetadata struct {
	fixed   metadata.MD // of every call
	varying []template  // with a value of its own in each call
}

type template struct {
	key    string
	values *data.Messages
}

// newCallMetadata returns metadata whose templates can use values of these names.
func newCallMetadata(pairs map[string][]string, values []string) (m callMetadata, err error) {
	m.fixed = metadata.MD{}
	for key, texts := range pairs {
		key = strings.ToLower(key)
		if IsReserved(key) {
			return m, fmt.Errorf("metadata %s: gRPC sets this header itself: leave it out (authority sets :authority)", key)
		}
		for _, text := range texts {
			if err := m.add(key, text, values); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

func (m *callMetadata) add(key, value string, names []string) error {
	if err := checkTemplate("metadata "+key, value); err != nil {
		return err
	}
	if strings.Contains(value, "{{") {
		values, err := data.Text("metadata "+key, []byte(value), names...)
		m.varying = append(m.varying, template{key, values})
		return err
	}
	decoded, err := DecodeMetadata(key, value)
	if err != nil {
		return fmt.Errorf("metadata %s: %w", key, err)
	}
	m.fixed.Append(key, decoded)
	return nil
}

// of returns the metadata of a call.
func (m callMetadata) of(call data.Call) (metadata.MD, error) {
	if len(m.varying) == 0 {
		return m.fixed, nil
	}
	all := m.fixed.Copy()
	for _, one := range m.varying {
		value, err := one.values.For(call)
		if err != nil {
			return nil, err
		}
		decoded, err := DecodeMetadata(one.key, string(value))
		if err != nil {
			return nil, fmt.Errorf("metadata %s: %w", one.key, err)
		}
		all.Append(one.key, decoded)
	}
	return all, nil
}

// reserved are the headers that gRPC sets itself or that HTTP/2 forbids (RFC 9113, section 8.2.2).
var reserved = []string{"content-type", "te", "user-agent", "host", "content-length", "transfer-encoding",
	"connection", "keep-alive", "proxy-connection", "upgrade"}

// IsReserved reports whether a key, in lower case, cannot be one of a call's own metadata.
func IsReserved(key string) bool {
	return slices.Contains(reserved, key) || strings.HasPrefix(key, "grpc-") || strings.HasPrefix(key, ":")
}

// DecodeMetadata returns a value as grpc-go takes it. The text of a key that ends in -bin is base64 (gRPC over
// HTTP/2, Binary-Header).
func DecodeMetadata(key, text string) (string, error) {
	if strings.ContainsAny(text, "\r\n\x00") {
		return "", errors.New("the value has a line break")
	}
	if !strings.HasSuffix(key, "-bin") {
		return text, nil
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return "", fmt.Errorf("%q is not base64, which keys ending in -bin require", text)
	}
	return string(decoded), nil
}

// workerAction matches the start of a template action up to .Worker, which is a part of names outside of actions.
var workerAction = regexp.MustCompile(`\{\{([^}]|\}[^}])*\.Worker\b`)

// checkTemplate refuses what templates have in rpclab load only.
func checkTemplate(what, text string) error {
	if workerAction.MatchString(text) {
		return fmt.Errorf("%s: {{.Worker}} is known to rpclab load only: use {{.Number}} or {{uuid}}", what)
	}
	return nil
}

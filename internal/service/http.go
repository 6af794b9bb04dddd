package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/service/data"
)

// Request is an HTTP request of a service that is ready to be sent. It is safe for concurrent use.
type Request struct {
	spec    Spec
	path    *data.Messages
	body    *data.Messages // nil: none
	headers []template
	rows    *data.Rows // that the path or the headers use; nil: they use none
	numbers numbers
	check   *Check // nil: a status below 400 is right
}

// withoutBody are the methods of requests that have no body if the path or the headers use the fields of its data file.
var withoutBody = []string{http.MethodGet, http.MethodHead, http.MethodDelete}

// OpenHTTP checks the path, body, headers and condition of an HTTP request.
func OpenHTTP(spec Spec) (*Request, error) {
	r := &Request{spec: spec, numbers: numbersOf(spec)}
	path, body := "path of call "+spec.Name, "data of call "+spec.Name
	err := errors.Join(spec.in("path", checkTemplate(path, spec.Path)), spec.in("data", checkTemplate(body, spec.Data)))
	if err != nil {
		return nil, err
	}
	names, rows, err := spec.templateValues()
	if err != nil {
		return nil, spec.in("data", err)
	}
	r.rows = rows
	if r.path, err = data.Path(path, []byte(spec.Path), names...); err != nil {
		return nil, spec.in("path", err)
	}
	contentType, err := r.addHeaders(names)
	if err != nil {
		return nil, spec.in("metadata", err)
	}
	if spec.Data != "" && !(rows != nil && slices.Contains(withoutBody, spec.HTTP)) {
		if r.body, err = spec.bodies(contentType); err != nil {
			return nil, spec.in("data", err)
		}
		if contentType == "" {
			json, _ := data.Text("", []byte("application/json")) // no template
			r.headers = append(r.headers, template{"Content-Type", json})
		}
	}
	if spec.Check != "" {
		if r.check, err = CompileHTTPCheck(spec.Check); err != nil {
			return nil, spec.in("check", fmt.Errorf("check of call %s: %w", spec.Name, err))
		}
	}
	if spec.Identity.Trailer != "" {
		return nil, spec.in("identity", errors.New("identity: an HTTP response names its backend in a header or a field: set identity.header or identity.field"))
	}
	return r, nil
}

// addHeaders adds the headers that the metadata sets, whose templates can use values of these names. It returns their
// content type; empty: they have none.
func (r *Request) addHeaders(names []string) (contentType string, err error) {
	for key, all := range r.spec.Metadata {
		switch http.CanonicalHeaderKey(key) {
		case "Host":
			return "", fmt.Errorf("metadata %s: HTTP calls take it from authority: set authority in its place", key)
		case "Content-Length", "Transfer-Encoding":
			return "", fmt.Errorf("metadata %s: rpclab sets this header itself: remove it", key)
		case "Content-Type":
			contentType = strings.Join(all, ", ")
		}
		for _, value := range all {
			if err := checkTemplate("metadata "+key, value); err != nil {
				return "", err
			}
			values, err := data.Text("metadata "+key, []byte(value), names...)
			if err != nil {
				return "", err
			}
			r.headers = append(r.headers, template{key, values})
		}
	}
	return contentType, nil
}

// bodies returns the bodies of requests: the data, or what a file has of them. A text is the body as it is if the
// content type is not JSON.
func (s Spec) bodies(contentType string) (*data.Messages, error) {
	name, text, err := s.data(nil)
	if err != nil {
		return nil, err
	}
	if s.File != "" {
		return data.Bodies(name, text, s.values()...)
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	if body, ok := data.Unquoted(text); ok && contentType != "" && !isJSON(kind) {
		if kind == "application/x-www-form-urlencoded" {
			return data.Path(name, body, s.values()...)
		}
		return data.Text(name, body, s.values()...)
	}
	return data.Body(name, text, s.values()...)
}

// isJSON reports whether a media type is that of JSON.
func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }

// StartLoad continues the numbers of requests, as [Call.StartLoad] does.
func (r *Request) StartLoad() { r.numbers.Next() }

// Path returns the path and query of request n. values are those of its [Flow]; nil: none.
func (r *Request) Path(n uint64, values Values) ([]byte, error) {
	return r.path.For(r.rows.Add(r.call(r.VariesPath(), n, values)))
}

// Body returns the body of request n; empty: it has none.
func (r *Request) Body(n uint64, values Values) ([]byte, error) {
	if r.body == nil {
		return nil, nil
	}
	return r.body.For(r.call(r.VariesBody(), n, values))
}

// Header returns the header fields of request n, except Host.
func (r *Request) Header(n uint64, values Values) (metadata.MD, error) {
	md, call := metadata.MD{}, r.rows.Add(r.call(r.VariesHeader(), n, values))
	for _, header := range r.headers {
		value, err := header.values.For(call)
		if err != nil {
			return nil, err
		}
		md.Append(header.key, string(value))
	}
	return md, nil
}

// VariesPath reports whether requests have different paths, and so on.
func (r *Request) VariesPath() bool { return r.path.Templated() }

// VariesBody is as VariesPath.
func (r *Request) VariesBody() bool {
	if r.body == nil {
		return false
	}
	_, constant := r.body.Constant()
	return !constant
}

// VariesHeader is as VariesPath.
func (r *Request) VariesHeader() bool {
	return slices.ContainsFunc(r.headers, func(header template) bool { return header.values.Templated() })
}

// ReadsHeaders reports whether the condition reads headers of the response.
func (r *Request) ReadsHeaders() bool { return r.check != nil && r.check.readsHeaders }

// call returns call n for templates. What does not vary does not count as a call.
func (r *Request) call(varies bool, n uint64, values Values) data.Call {
	if !varies {
		return data.Call{}
	}
	return data.Call{Number: r.numbers.of(n), Values: values}
}

// For returns request n to a base URL such as http://127.0.0.1:80. values are those of its [Flow]; nil: none.
func (r *Request) For(ctx context.Context, base string, n uint64, values Values) (*http.Request, error) {
	path, err := r.Path(n, values)
	if err != nil {
		return nil, err
	}
	body, err := r.Body(n, values)
	if err != nil {
		return nil, err
	}
	header, err := r.Header(n, values)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, r.spec.HTTP, base+string(path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for key, values := range header {
		request.Header[http.CanonicalHeaderKey(key)] = values
	}
	if r.spec.Authority != "" {
		request.Host = r.spec.Authority
	}
	return request, nil
}

// Judge returns the backend that sent a response from an address, and the code of the call with a message:
// HTTP_404 for a status of 400 or more, unless it meets a check. An empty code means that the response is
// right.
func (r *Request) Judge(status int, header http.Header, body []byte, address string) (backend, code, message string) {
	md := metadata.MD{}
	for name, values := range header {
		md[strings.ToLower(name)] = values
	}
	backend = r.spec.Identity.BackendOf(md, nil, address)
	var answer any
	var invalid error
	if r.check != nil && r.check.readsAnswer || r.spec.Identity.Field != "" {
		answer, invalid = Answer(body, header)
	}
	if r.spec.Identity.Field != "" {
		backend = textAt(answer, r.spec.Identity.Field)
	}
	code, message = CheckFailed, fmt.Sprintf("HTTP %d: %.200q", status, body)
	failed := status >= http.StatusBadRequest
	if failed {
		code = fmt.Sprintf("HTTP_%d", status)
	}
	switch {
	case r.check == nil && failed:
		return backend, code, message
	case invalid != nil && failed && r.check.readsAnswer:
		return backend, code, fmt.Sprintf("%v; the response was %s", invalid, message)
	case invalid != nil && (r.check == nil || r.check.readsAnswer):
		return backend, "DATA_LOSS", invalid.Error()
	case r.check == nil:
		return backend, "", ""
	}
	if err := r.check.eval(map[string]any{"status": status, "answer": answer, "headers": fieldsOf(header)}); err != nil {
		return backend, code, fmt.Sprintf("%v; the response was %s", err, message)
	}
	return backend, "", ""
}

// Answer returns the body of a response as what its content type says: a value of JSON, which is null if there is no
// body, or text.
func Answer(body []byte, header http.Header) (any, error) {
	contentType := header.Get("Content-Type")
	kind, _, _ := mime.ParseMediaType(contentType)
	if !isJSON(kind) {
		return string(body), nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return withNumbers(value), nil
		}
		err = cmp.Or(err, errors.New("there is text after the value"))
	}
	return nil, fmt.Errorf("the body is not JSON, but its content type is %s: %w", contentType, err)
}

// withNumbers returns a value of JSON with its numbers as CEL has them: as float64, or as [json.Number] or uint64 if
// that is an integer which float64 cannot hold.
func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if big, err := strconv.ParseUint(v.String(), 10, 64); err == nil && big > math.MaxInt64 {
			return big // CEL would make a float64 of the json.Number
		}
		number, err := v.Float64()
		if _, notInteger := v.Int64(); err != nil || notInteger == nil && math.Abs(number) >= maxExact {
			return v
		}
		return number
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	}
	return value
}

// maxExact is the integer below which float64 holds every integer.
const maxExact = 1 << 53

// textAt returns the field of a JSON value at a path such as server.name; empty: it has none.
func textAt(value any, path string) string {
	for _, step := range strings.Split(path, ".") {
		object, _ := value.(map[string]any)
		value = object[step]
	}
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) // fmt writes 1e+06
	}
	return fmt.Sprint(value)
}

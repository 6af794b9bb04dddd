// Package service prepares the calls of a user's service: it finds the method, makes the requests and
// judges the responses.
package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"rpclab/internal/service/data"
	"rpclab/internal/service/decode"
	"rpclab/internal/service/method"
	"rpclab/internal/service/stream"
)

// UpstreamHeader is the response header in which a proxy that rpclab configured names the backend
// (host:port) that it chose.
const UpstreamHeader = "rpclab-upstream"

// CheckFailed is the code of a call whose response does not meet its check.
const CheckFailed = "CHECK"

// Spec is a call of a service. Processes exchange it as JSON.
type Spec struct {
	Name   string `json:"name"`             // in messages
	Method string `json:"method"`           // package.Service/Method; empty: an HTTP request
	HTTP   string `json:"http,omitempty"`   // GET, POST, …
	Path   string `json:"path,omitempty"`   // of the HTTP request, with its query; it can be a template
	Data   string `json:"data,omitempty"`   // messages in JSON; empty: {}
	File   string `json:"file,omitempty"`   // from which the data was read; if it is CSV, the data is too
	Check  string `json:"check,omitempty"`  // CEL; empty: every response that can be decoded is right
	Protos []byte `json:"protos,omitempty"` // a FileDescriptorSet; empty: the server is asked by reflection
	// Metadata of every call. Values can be templates.
	Metadata  map[string][]string `json:"metadata,omitempty"`
	Authority string              `json:"authority,omitempty"` // empty: that of the target
	TLS       *TLS                `json:"tls,omitempty"`       // nil: clear text
	Identity  Identity            `json:"identity"`
	Stream    stream.Options      `json:"stream"`           // of a streaming method
	Weight    uint64              `json:"weight,omitempty"` // of the call in a [Mix]; 0: 1
	// Callers is how many callers share a load, and Caller is the number of this one, from 0: no two make calls with the
	// same number. 0: there is one.
	Caller  uint64 `json:"caller,omitempty"`
	Callers uint64 `json:"callers,omitempty"`
	// From are the values that the call takes from the answers before it in a [Flow], in CEL by their names.
	From map[string]string `json:"from,omitempty"`
}

// Identity says where a response names the backend that sent it. The zero value is its address.
type Identity struct {
	Trailer string `json:"trailer,omitempty"` // gRPC trailer
	Header  string `json:"header,omitempty"`  // response header
	Field   string `json:"field,omitempty"`   // path of a field of the response
}

// IsAddress reports whether a backend is named by its address.
func (i Identity) IsAddress() bool { return i == Identity{} }

// FirstMetadata returns the metadata of the first call, for a request before it. It leaves out metadata with values
// of earlier answers, which are not known then.
func (s Spec) FirstMetadata() (metadata.MD, error) {
	names, rows, err := s.templateValues()
	if err != nil {
		return nil, err
	}
	m, err := newCallMetadata(s.Metadata, names)
	if err != nil {
		return nil, err
	}
	first := rows.Add(data.Call{})
	m.varying = slices.DeleteFunc(m.varying, func(one template) bool {
		_, err := one.values.For(first)
		return err != nil && len(s.From) > 0
	})
	return m.of(first)
}

// values are the names of the values that templates can use.
func (s Spec) values() []string { return slices.Sorted(maps.Keys(s.From)) }

// templateValues returns the names of the values that templates in the path and the metadata can use, and the rows of the
// data file if they use its fields; nil: they use none.
func (s Spec) templateValues() (names []string, rows *data.Rows, err error) {
	names = s.values()
	isOfRow := func(field string) bool {
		return field != "Number" && field != "Worker" && !slices.Contains(names, field)
	}
	if s.File == "" || !slices.ContainsFunc(s.templates(), func(text string) bool { return slices.ContainsFunc(data.Fields(text), isOfRow) }) {
		return names, nil, nil
	}
	name, text, err := s.data(nil)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = data.ReadRows(text); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(names, rows.Names()...), rows, nil
}

// templates are the texts of a call outside of its message that can be templates.
func (s Spec) templates() []string {
	return append(slices.Concat(slices.Collect(maps.Values(s.Metadata))...), s.Path)
}

// TLSConfig returns the configuration of connections for calls of a service, which verify the host of the authority
// if there is no other name; nil for clear text.
func (s Spec) TLSConfig() (*tls.Config, error) {
	config, err := s.TLS.Config()
	if config == nil {
		return nil, err
	}
	config.ServerName = s.VerifiedName()
	return config, nil
}

// VerifiedName returns the name that the server's certificate must contain; empty: that of the target.
func (s Spec) VerifiedName() string {
	if s.TLS.ServerName != "" {
		return s.TLS.ServerName
	}
	if host, _, err := net.SplitHostPort(s.Authority); err == nil {
		return host
	}
	return s.Authority
}

// data returns the messages in JSON, and their name in errors. of is their type; nil: not known.
func (s Spec) data(of protoreflect.MessageDescriptor) (name string, text []byte, err error) {
	if s.File == "" {
		return "data of call " + s.Name, []byte(s.Data), nil
	}
	name, text = fmt.Sprintf("data of call %s: %s", s.Name, s.File), []byte(s.Data)
	if !data.IsCSV(s.File) {
		return name, text, nil
	}
	if text, err = data.FromCSV(text, of); err != nil {
		return name, nil, fmt.Errorf("%s: %w", name, err)
	}
	return name, text, nil
}

// Call is a call of a gRPC method that is ready to be made. It is safe for concurrent use.
type Call struct {
	Path     string         // of the method in HTTP/2
	Stream   *stream.Stream // nil: unary
	spec     Spec
	messages *data.Messages
	metadata callMetadata
	rows     *data.Rows // that the metadata uses; nil: it uses none
	response *decode.Message
	output   protoreflect.MessageDescriptor
	check    *Check // nil: none
	numbers  numbers
	field    []protoreflect.FieldDescriptor
}

// Values are what a call takes from the answers before it in a [Flow], by their names in templates.
type Values map[string]string

// Open finds the method of a call and checks its message, its metadata and its condition.
func Open(ctx context.Context, spec Spec, source method.Source) (*Call, error) {
	found, err := method.Find(ctx, source, spec.Method)
	if err != nil {
		return nil, spec.in("method", fmt.Errorf("call %s: %w", spec.Name, err))
	}
	c := &Call{Path: method.Path(found), spec: spec, numbers: numbersOf(spec), response: decode.New(found.Output()), output: found.Output()}
	if c.Stream, err = stream.New(spec.Stream, found, stream.Fields); err != nil {
		return nil, spec.in("stream", fmt.Errorf("call %s: %w", spec.Name, err))
	}
	name, text, err := spec.data(found.Input())
	if err := errors.Join(err, checkTemplate(name, string(text))); err != nil {
		return nil, spec.in("data", err)
	}
	if c.messages, err = data.JSON(name, text, found.Input(), spec.values()...); err != nil {
		return nil, spec.in("data", err)
	}
	if spec.Check != "" {
		if c.check, err = CompileCheck(spec.Check, found.Output()); err != nil {
			return nil, spec.in("check", fmt.Errorf("check of call %s: %w", spec.Name, err))
		}
		if c.Stream != nil {
			c.Stream.Checked = true
		}
	}
	if c.field, err = fieldPath(found.Output(), spec.Identity.Field); err != nil {
		return nil, spec.in("identity", err)
	}
	names, rows, err := spec.templateValues()
	if err != nil {
		return nil, spec.in("data", err)
	}
	c.rows = rows
	c.metadata, err = newCallMetadata(spec.Metadata, names)
	return c, spec.in("metadata", err)
}

// CheckMessages returns an error if a stream cannot carry several calls, each one message and its response.
func (c *Call) CheckMessages() error {
	if c.Stream == nil || !c.Stream.Client || !c.Stream.Server {
		return fmt.Errorf("caller.stream sends a message after the response to the last one, and the call %s is not of a bidirectional streaming method: choose another with --call NAME, or remove caller.stream", c.spec.Name)
	}
	return nil
}

// Message returns the request of call n, which must not be modified. values are those of its [Flow]; nil: none.
func (c *Call) Message(n uint64, values Values) ([]byte, error) {
	return c.messages.For(data.Call{Number: c.numbers.of(n), Values: values})
}

// StartLoad continues the numbers of calls, which each load counts from 0: messages of a file follow those of
// the load before.
func (c *Call) StartLoad() { c.numbers.Next() }

// numbers number the calls of several loads. Callers that share a load take turns.
type numbers struct {
	caller, callers uint64
	data.Numbers    // of the calls of this caller
}

func numbersOf(s Spec) numbers { return numbers{caller: s.Caller, callers: max(s.Callers, 1)} }

// of returns the number of call n of this load.
func (n *numbers) of(call uint64) uint64 {
	return n.Of(call)*n.callers + n.caller
}

// Constant returns the request if all calls have the same.
func (c *Call) Constant() (message []byte, ok bool) { return c.messages.Constant() }

// Authority returns the authority of calls; empty: that of the target.
func (c *Call) Authority() string { return c.spec.Authority }

// Identity says where a response names its backend.
func (c *Call) Identity() Identity { return c.spec.Identity }

// VariesMetadata reports whether calls have different metadata.
func (c *Call) VariesMetadata() bool { return len(c.metadata.varying) > 0 }

// Metadata returns the metadata of call n. values are as in [Call.Message].
func (c *Call) Metadata(n uint64, values Values) (metadata.MD, error) {
	if !c.VariesMetadata() {
		return c.metadata.fixed, nil
	}
	return c.metadata.of(c.rows.Add(data.Call{Number: c.numbers.of(n), Values: values}))
}

// CheckError is the error of a response that does not meet the call's check.
type CheckError struct{ error }

// Code returns the code of such a call.
func (CheckError) Code() string { return CheckFailed }

// Judge returns the backend's name if it is in a field of the response, and why the response is wrong: a
// [CheckError], or why it cannot be decoded.
func (c *Call) Judge(response []byte) (backend string, err error) {
	if err := c.response.Check(response); err != nil {
		return "", err
	}
	if c.check == nil && c.field == nil {
		return "", nil
	}
	message, err := c.Answer(response)
	if err != nil {
		return "", err
	}
	if c.field != nil {
		backend = fieldText(message, c.field)
	}
	if c.check != nil {
		if err := c.check.Message(message); err != nil {
			return backend, CheckError{err}
		}
	}
	return backend, nil
}

// CheckAnswered returns a [CheckError] if the stream of a call has ended without a response, and the call's check needs one.
func (c *Call) CheckAnswered(responses int) error {
	if c.Stream == nil {
		return nil
	}
	if err := c.Stream.CheckAnswered(responses); err != nil {
		return CheckError{err}
	}
	return nil
}

// Answer decodes a response for the [Answers] of a flow.
func (c *Call) Answer(response []byte) (*dynamicpb.Message, error) {
	message := dynamicpb.NewMessage(c.output)
	return message, proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(response, message)
}

// fieldPath finds a field such as server.name; nil for an empty path.
func fieldPath(in protoreflect.MessageDescriptor, path string) (all []protoreflect.FieldDescriptor, err error) {
	if path == "" {
		return nil, nil
	}
	steps := strings.Split(path, ".")
	for i, step := range steps {
		field := in.Fields().ByName(protoreflect.Name(step))
		last := i == len(steps)-1
		switch {
		case field == nil:
			return nil, fmt.Errorf("identity.field %s: %s has no field %q: use one of %s", path, in.FullName(), step, strings.Join(fieldNames(in), ", "))
		case field.IsList() || field.IsMap() || last != (field.Message() == nil):
			return nil, fmt.Errorf("identity.field %s: %q is not %s", path, step, map[bool]string{true: "a single value", false: "a message"}[last])
		}
		all = append(all, field)
		in = field.Message()
	}
	return all, nil
}

func fieldText(message protoreflect.Message, path []protoreflect.FieldDescriptor) string {
	for _, step := range path[:len(path)-1] {
		message = message.Get(step).Message()
	}
	return message.Get(path[len(path)-1]).String()
}

// BackendOf returns the name of the backend that sent a response with these headers and trailers, from an
// address: by the identity, or as the proxy before the backend named it.
func (i Identity) BackendOf(header, trailer metadata.MD, address string) string {
	last := func(md metadata.MD, key string) string { // a retried call has one for each attempt
		if values := md.Get(key); len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	}
	switch {
	case i.Trailer != "":
		if name := last(trailer, i.Trailer); name != "" {
			return name
		}
		return last(header, i.Trailer) // a response without messages has only trailers, in the header
	case i.Header != "":
		return last(header, i.Header)
	case i.Field != "":
		return "" // the response names none
	}
	for _, md := range []metadata.MD{header, trailer} {
		if upstream := last(md, UpstreamHeader); upstream != "" {
			return upstream
		}
	}
	return address
}

// CodeOf returns the code of a call whose response is wrong, as [Call.Judge] said.
func CodeOf(err error) string {
	if _, failed := errors.AsType[CheckError](err); failed {
		return CheckFailed
	}
	return "DATA_LOSS"
}

// Package decode checks that responses can be decoded, without building messages: a walk over the
// bytes allocates nothing.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message checks the encoding of messages of one type. It is safe for concurrent use.
type Message struct {
	name   protoreflect.FullName
	fields map[protowire.Number]field
	dense  []field // of the numbers below its length, which are most

	valid  atomic.Pointer[[]byte] // a message that was valid: servers often send the same one
	others atomic.Uint64          // valid messages that differed from it
}

// field is how a field is encoded. The zero value is a field that the type does not have.
type field struct {
	known    bool
	wire     protowire.Type // of an element
	packable bool           // elements may also be packed in one length-delimited record
	text     bool           // has to be UTF-8
	message  *Message       // nil: not a message
}

const (
	maxDense = 256
	// maxRemembered is the length of the longest message that is remembered as valid.
	maxRemembered = 1 << 10
)

// New returns the check of a message type.
func New(of protoreflect.MessageDescriptor) *Message {
	return compile(of, map[protoreflect.FullName]*Message{})
}

func compile(of protoreflect.MessageDescriptor, known map[protoreflect.FullName]*Message) *Message {
	if m := known[of.FullName()]; m != nil {
		return m
	}
	m := &Message{name: of.FullName(), fields: map[protowire.Number]field{}}
	known[of.FullName()] = m
	for i := range of.Fields().Len() {
		described := of.Fields().Get(i)
		f := field{known: true, wire: wireTypes[described.Kind()]}
		f.packable = described.IsList() && f.wire != protowire.BytesType && f.wire != protowire.StartGroupType
		f.text = described.Kind() == protoreflect.StringKind && isUTF8(described)
		if within := described.Message(); within != nil {
			f.message = compile(within, known)
		}
		m.fields[described.Number()] = f
		if n := int(described.Number()); n < maxDense {
			for len(m.dense) <= n {
				m.dense = append(m.dense, field{})
			}
			m.dense[n] = f
		}
	}
	return m
}

func isUTF8(f protoreflect.FieldDescriptor) bool {
	if enforced, ok := f.(interface{ EnforceUTF8() bool }); ok { // also by a feature of an edition
		return enforced.EnforceUTF8()
	}
	return f.Syntax() == protoreflect.Proto3
}

// wireTypes are the wire types of kinds; the others are varints.
var wireTypes = map[protoreflect.Kind]protowire.Type{
	protoreflect.Fixed32Kind: protowire.Fixed32Type, protoreflect.Sfixed32Kind: protowire.Fixed32Type, protoreflect.FloatKind: protowire.Fixed32Type,
	protoreflect.Fixed64Kind: protowire.Fixed64Type, protoreflect.Sfixed64Kind: protowire.Fixed64Type, protoreflect.DoubleKind: protowire.Fixed64Type,
	protoreflect.StringKind: protowire.BytesType, protoreflect.BytesKind: protowire.BytesType, protoreflect.MessageKind: protowire.BytesType,
	protoreflect.GroupKind: protowire.StartGroupType,
}

// Check returns why a message cannot be decoded. It accepts what proto.Unmarshal accepts with
// AllowPartial: required fields of proto2 may be missing.
func (m *Message) Check(message []byte) error {
	if valid := m.valid.Load(); valid != nil && bytes.Equal(message, *valid) {
		return nil
	}
	if _, err := m.walk(message, protowire.DefaultRecursionLimit, 0); err != nil {
		return fmt.Errorf("the response is not a %s: %w", m.name, err)
	}
	m.remember(message)
	return nil
}

// remember remembers a valid message at the first, second, fourth, eighth … call, so that a server whose
// messages all differ costs few copies.
func (m *Message) remember(message []byte) {
	if len(message) > maxRemembered {
		return
	}
	if n := m.others.Add(1); n&(n-1) == 0 {
		valid := bytes.Clone(message)
		m.valid.Store(&valid)
	}
}

var (
	errNumber = errors.New("invalid field number")
	errDepth  = errors.New("too many messages within messages")
	errText   = errors.New("a string is not UTF-8")
)

// walk checks the fields of a message: all bytes, or with the number of a group those up to the end of that. It returns the
// length of what it read.
func (m *Message) walk(p []byte, depth int, group protowire.Number) (read int, err error) {
	if depth--; depth < 0 {
		return 0, errDepth
	}
	for read < len(p) || group != 0 {
		number, kind, n := protowire.ConsumeTag(p[read:])
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		if number > protowire.MaxValidNumber {
			return 0, errNumber
		}
		if read += n; kind == protowire.EndGroupType && number == group {
			return read, nil
		}
		if n, err = m.value(number, kind, p[read:], depth); err != nil {
			return 0, err
		}
		read += n
	}
	return read, nil
}

// value returns the length of a field's value. A value of another wire type counts as an unknown field.
func (m *Message) value(number protowire.Number, kind protowire.Type, p []byte, depth int) (n int, err error) {
	f := m.field(number)
	var value []byte
	switch {
	case !f.known, kind != f.wire && !(f.packable && kind == protowire.BytesType):
		n = protowire.ConsumeFieldValue(number, kind, p)
	case kind == protowire.BytesType:
		value, n = protowire.ConsumeBytes(p)
	case kind == protowire.StartGroupType:
		return f.message.walk(p, depth, number) // where it is: its length is not known, and groups within it have groups
	default:
		n = protowire.ConsumeFieldValue(number, kind, p)
	}
	switch {
	case n < 0:
		return 0, protowire.ParseError(n)
	case !f.known || value == nil:
	case kind != f.wire:
		err = elements(number, f.wire, value)
	case f.text && !utf8.Valid(value):
		err = errText
	case f.message != nil:
		_, err = f.message.walk(value, depth, 0)
	}
	return n, err
}

func (m *Message) field(number protowire.Number) field {
	if int(number) < len(m.dense) {
		return m.dense[number]
	}
	return m.fields[number]
}

// elements checks packed elements.
func elements(number protowire.Number, kind protowire.Type, p []byte) error {
	for len(p) > 0 {
		n := protowire.ConsumeFieldValue(number, kind, p)
		if n < 0 {
			return protowire.ParseError(n)
		}
		p = p[n:]
	}
	return nil
}

// JSON returns why a body cannot be decoded if its content type is JSON.
func JSON(body []byte, contentType string) error {
	if !isJSON(contentType) || json.Valid(body) {
		return nil
	}
	return fmt.Errorf("the body is not JSON, but its content type is %s: %.60q", contentType, body)
}

func isJSON(contentType string) bool {
	if contentType == "application/json" { // the usual one, without allocations
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

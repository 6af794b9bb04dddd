// Package data makes the messages of a load: JSON or bytes, one or many taken in turn,
// with templates that are compiled once.
package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Call is what a template can say of the call that it makes a message for.
type Call struct {
	Number uint64 // of the call, from 0
	Worker int    // a number from 0 that no two calls in flight share
}

// Messages are the messages of a load. It is safe for use by many goroutines.
type Messages struct {
	messages []message
	moving   bool
}

// message is bytes that never change, or a template of them.
type message struct {
	fixed  []byte
	source *template.Template
	encode func([]byte) ([]byte, error)
}

// Moving says whether any message is made anew for each call.
func (m *Messages) Moving() bool { return m.moving }

// Fixed is the message of every call, if all have the same.
func (m *Messages) Fixed() (message []byte, ok bool) {
	if len(m.messages) != 1 || m.moving {
		return nil, false
	}
	return m.messages[0].fixed, true
}

// Len is how many messages there are.
func (m *Messages) Len() int { return len(m.messages) }

// At is the message of a call: they are taken in turn. The bytes are not to be changed.
func (m *Messages) At(c Call) ([]byte, error) {
	one := &m.messages[c.Number%uint64(len(m.messages))]
	if one.source == nil {
		return one.fixed, nil
	}
	var text bytes.Buffer
	err := one.source.Execute(&text, c)
	if err != nil {
		return nil, readable(err)
	}
	message, err := one.encode(text.Bytes())
	if err != nil {
		return nil, readable(err)
	}
	return message, nil
}

// Read is the argument of -d: text as it is, @FILE, or @- for standard input.
func Read(argument string, stdin io.Reader) (text []byte, name string, err error) {
	file, ok := strings.CutPrefix(argument, "@")
	switch {
	case !ok:
		return []byte(argument), "-d", nil
	case file == "-":
		text, err = io.ReadAll(stdin)
		return text, "standard input", err
	}
	text, err = os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the data: %w", err)
	}
	return text, file, nil
}

// JSON reads messages of a type: one JSON object, an array of them, or one after
// another (NDJSON). Any may be a template. name says in errors where the text is from.
func JSON(name string, text []byte, of protoreflect.MessageDescriptor) (*Messages, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	encode := func(text []byte) ([]byte, error) {
		m := dynamicpb.NewMessage(of)
		if err := protojson.Unmarshal(text, m); err != nil {
			return nil, err
		}
		return proto.Marshal(m)
	}
	parts, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := new(Messages)
	for i, part := range parts {
		at := name
		if len(parts) > 1 {
			at = fmt.Sprintf("%s, message %d", name, i+1)
		}
		if err := all.add(part, encode); err != nil {
			return nil, fmt.Errorf("%s is no %s: %w", at, of.FullName(), readable(err))
		}
	}
	return all, nil
}

// Text is one body, sent as it is. It may be a template.
func Text(name string, text []byte) (*Messages, error) {
	all := new(Messages)
	if err := all.add(text, func(text []byte) ([]byte, error) { return text, nil }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, readable(err))
	}
	return all, nil
}

// Binary is one message of bytes, in which nothing is a template.
func Binary(data []byte) *Messages { return &Messages{messages: []message{{fixed: data}}} }

// add takes a message that can be made: a template is tried for call 0.
func (m *Messages) add(text []byte, encode func([]byte) ([]byte, error)) error {
	one := message{encode: encode}
	var err error
	if bytes.Contains(text, []byte("{{")) {
		if one.source, err = template.New("message").Option("missingkey=error").Funcs(functions).Parse(string(text)); err != nil {
			return err
		}
	} else if one.fixed, err = encode(text); err != nil {
		return err
	}
	m.messages = append(m.messages, one)
	if one.source == nil {
		return nil
	}
	m.moving = true
	_, err = (&Messages{messages: []message{one}}).At(Call{})
	return err
}

// readable takes the libraries' own marks off an error.
func readable(err error) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf-go varies its spaces on purpose
	text = strings.TrimPrefix(strings.ReplaceAll(text, "proto:  ", "proto: "), "proto: ")
	text = strings.ReplaceAll(text, "in type data.Call", "(a call has .Number and .Worker)")
	return errors.New(strings.TrimPrefix(text, "template: message:"))
}

// Package data makes the messages of a load from JSON or bytes: one message or several in turn,
// optionally with templates.
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

// Call has the fields that a template can use.
type Call struct {
	Number uint64 // of the call, from 0
	Worker int    // unique among the calls in flight, from 0
}

// Messages are the messages of a load. They are safe for concurrent use.
type Messages struct {
	messages  []message
	templated bool
}

// message is fixed bytes or a template.
type message struct {
	fixed    []byte
	template *template.Template
	encode   func([]byte) ([]byte, error)
}

// Templated reports whether any message is a template.
func (m *Messages) Templated() bool { return m.templated }

// Constant returns the message of every call if all are the same.
func (m *Messages) Constant() (message []byte, ok bool) {
	if len(m.messages) != 1 || m.templated {
		return nil, false
	}
	return m.messages[0].fixed, true
}

// Len returns the number of messages.
func (m *Messages) Len() int { return len(m.messages) }

// For returns the message of a call, which must not be modified.
func (m *Messages) For(call Call) ([]byte, error) {
	chosen := &m.messages[call.Number%uint64(len(m.messages))]
	if chosen.template == nil {
		return chosen.fixed, nil
	}
	var text bytes.Buffer
	err := chosen.template.Execute(&text, call)
	if err != nil {
		return nil, cleanError(err)
	}
	message, err := chosen.encode(text.Bytes())
	if err != nil {
		return nil, cleanError(err)
	}
	return message, nil
}

// Read returns the argument of -d: the text itself, @FILE, or @- for standard input.
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
		return nil, "", fmt.Errorf("read the data: %w", err)
	}
	return text, file, nil
}

// JSON parses messages of a type: one JSON object, an array, or several objects (NDJSON). Each
// may be a template. name is the source of the text in errors.
func JSON(name string, text []byte, of protoreflect.MessageDescriptor) (*Messages, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	encode := func(text []byte) ([]byte, error) {
		decoded := dynamicpb.NewMessage(of)
		if err := protojson.Unmarshal(text, decoded); err != nil {
			return nil, err
		}
		return proto.Marshal(decoded)
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
			return nil, fmt.Errorf("%s is not a %s: %w", at, of.FullName(), cleanError(err))
		}
	}
	return all, nil
}

// Text returns one body, sent as it is. It may be a template.
func Text(name string, text []byte) (*Messages, error) {
	all := new(Messages)
	if err := all.add(text, func(text []byte) ([]byte, error) { return text, nil }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, cleanError(err))
	}
	return all, nil
}

// Binary returns one message of bytes without templates.
func Binary(data []byte) *Messages { return &Messages{messages: []message{{fixed: data}}} }

// add adds a message. It executes a template for call 0, to report its errors.
func (m *Messages) add(text []byte, encode func([]byte) ([]byte, error)) error {
	added := message{encode: encode}
	var err error
	if bytes.Contains(text, []byte("{{")) {
		if added.template, err = template.New("message").Option("missingkey=error").Funcs(functions).Parse(string(text)); err != nil {
			return err
		}
	} else if added.fixed, err = encode(text); err != nil {
		return err
	}
	m.messages = append(m.messages, added)
	if added.template == nil {
		return nil
	}
	m.templated = true
	_, err = (&Messages{messages: []message{added}}).For(Call{})
	return err
}

// cleanError removes the prefixes of libraries from an error.
func cleanError(err error) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf-go varies its spaces on purpose
	text = strings.TrimPrefix(strings.ReplaceAll(text, "proto:  ", "proto: "), "proto: ")
	text = strings.ReplaceAll(text, "in type data.Call", "(a call has .Number and .Worker)")
	return errors.New(strings.TrimPrefix(text, "template: message:"))
}

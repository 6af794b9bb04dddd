// Package data makes the messages of a load from JSON or bytes: one message or several in turn,
// optionally with templates.
package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
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
	// Values are fields too, in messages that were parsed with their names.
	Values map[string]string
}

// Messages are the messages of a load. They are safe for concurrent use.
type Messages struct {
	messages  []message
	templated bool
	values    []string            // that templates can use
	escape    func(string) string // makes a value part of the message; nil: it is one as it is
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
	text, err := m.execute(chosen, call)
	if err != nil {
		return nil, err
	}
	message, err := chosen.encode(text)
	if err != nil {
		return nil, withoutPrefixes(err)
	}
	return message, nil
}

// execute returns the text of a message that is a template.
func (m *Messages) execute(chosen *message, call Call) ([]byte, error) {
	var text bytes.Buffer
	if len(m.values) == 0 {
		if err := chosen.template.Execute(&text, call); err != nil {
			return nil, withoutPrefixes(err)
		}
		return text.Bytes(), nil
	}
	fields := map[string]any{"Number": call.Number}
	for name, value := range call.Values {
		if m.escape != nil {
			value = m.escape(value)
		}
		fields[name] = value
	}
	if err := chosen.template.Execute(&text, fields); err != nil {
		known := "the call has .Number, and ." + strings.Join(m.values, ", .") + " by its from or its data file"
		return nil, errors.New(noEntry.ReplaceAllLiteralString(withoutPrefixes(err).Error(), known))
	}
	return text.Bytes(), nil
}

// noEntry matches the error of a template that uses an unknown value.
var noEntry = regexp.MustCompile(`map has no entry for key ".*"`)

// maxFile is how many bytes of messages a load reads. They are all in memory, also in their encoded form.
const maxFile = 64 << 20

// Read returns the argument of -d: the text itself, @FILE, or @- for standard input.
func Read(argument string, stdin io.Reader) (text []byte, name string, err error) {
	const advice = "shorten it, or send its messages in several loads"
	file, ok := strings.CutPrefix(argument, "@")
	switch {
	case !ok:
		return []byte(argument), "-d", nil
	case file == "-":
		text, err = readAtMost(stdin, "standard input", maxFile, advice)
		return text, "standard input", err
	}
	if text, err = ReadFile(file, maxFile, advice); err != nil {
		return nil, "", fmt.Errorf("read the data: %w", err)
	}
	return text, file, nil
}

// ReadFile reads a file of at most so many bytes. A device may have no end. advice is part of the error of a larger file.
func ReadFile(file string, most int, advice string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, file, most, advice)
}

func readAtMost(from io.Reader, name string, most int, advice string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s has more than %d bytes: %s", name, most, advice)
	}
	return text, err
}

// JSON parses messages of a type: one JSON object, an array, or several objects (NDJSON). Each
// may be a template, which can use values of these names. name is the source of the text in errors.
func JSON(name string, text []byte, of protoreflect.MessageDescriptor, values ...string) (*Messages, error) {
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
	all := &Messages{values: values, escape: escapeJSON}
	for i, part := range parts {
		at := name
		if len(parts) > 1 {
			at = fmt.Sprintf("%s, message %d", name, i+1)
		}
		if err := all.add(part, encode); err != nil {
			return nil, fmt.Errorf("%s is not a %s: %w", at, of.FullName(), withoutPrefixes(err))
		}
	}
	return all, nil
}

// Text returns one text, sent as it is. It may be a template, which can use values of these names.
func Text(name string, text []byte, values ...string) (*Messages, error) {
	return parseText(name, text, &Messages{values: values})
}

// Body is [Text] for a body in JSON: values become parts of its texts.
func Body(name string, text []byte, values ...string) (*Messages, error) {
	return parseText(name, text, &Messages{values: values, escape: escapeJSON})
}

// Path is [Text] for a path with its query, or for a form: values become parts of a segment or a parameter.
func Path(name string, text []byte, values ...string) (*Messages, error) {
	return parseText(name, text, &Messages{values: values, escape: escapePath})
}

func parseText(name string, text []byte, into *Messages) (*Messages, error) {
	if err := into.add(text, func(text []byte) ([]byte, error) { return text, nil }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPrefixes(err))
	}
	return into, nil
}

// escapeJSON returns a value as part of a text in JSON.
func escapeJSON(value string) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a text is never invalid
	return strings.TrimSuffix(text.String()[1:], "\"\n")
}

// escapePath returns a value as part of a path or a query.
func escapePath(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

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
	sample := Call{Values: map[string]string{}}
	for _, name := range m.values {
		sample.Values[name] = "0"
	}
	executed, err := m.execute(&added, sample)
	if err != nil {
		return err
	}
	// Other values than the sample may be what the message needs, but they do not change its fields.
	if _, err = encode(executed); err != nil && len(m.values) > 0 && !strings.Contains(err.Error(), "unknown field") {
		return nil
	}
	return err
}

// withoutPrefixes removes the prefixes that libraries add to an error.
func withoutPrefixes(err error) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf-go varies its spaces on purpose
	text = strings.TrimPrefix(strings.ReplaceAll(text, "proto:  ", "proto: "), "proto: ")
	text = strings.ReplaceAll(text, "in type data.Call", "(a call has .Number and .Worker)")
	return errors.New(execution.ReplaceAllString(strings.TrimPrefix(text, "template: message:"), "$1: {{$2}}: "))
}

// execution is how a template says where its execution failed.
var execution = regexp.MustCompile(`^(\d+:\d+): executing "message" at <([^>]*)>: `)

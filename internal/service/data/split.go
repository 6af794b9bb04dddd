package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// templateAction matches a template action.
var templateAction = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// split splits JSON into the elements of an array or a sequence of values. It replaces template
// actions by digits of the same length, which are valid JSON inside and outside of strings. A
// text that is JSON only after its templates are executed is one message.
func split(text []byte) ([][]byte, error) {
	parts, err := values(text)
	if err != nil && controlAction.Match(text) {
		return [][]byte{text}, nil
	}
	return parts, err
}

// controlAction matches a template action that determines the rest of the text.
var controlAction = regexp.MustCompile(`\{\{-?\s*(if|range|with|end|define|block|template)\b`)

func values(text []byte) (parts [][]byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // byte order mark
	masked := templateAction.ReplaceAllFunc(text, func(a []byte) []byte { return bytes.Repeat([]byte("1"), len(a)) })
	decoder := json.NewDecoder(bytes.NewReader(masked))
	array := bytes.HasPrefix(bytes.TrimSpace(masked), []byte("["))
	if array {
		if _, err := decoder.Token(); err != nil {
			return nil, syntaxError(text, decoder, err)
		}
	}
	for !array || decoder.More() {
		var value json.RawMessage
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) && !array {
			break
		} else if err != nil {
			return nil, syntaxError(text, decoder, err)
		}
		end := int(decoder.InputOffset())
		parts = append(parts, text[end-len(value):end])
	}
	if array {
		if _, err := decoder.Token(); err != nil {
			return nil, syntaxError(text, decoder, err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("there is data after the array: remove it, or write an object on each line")
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("the data contains no message: write {} for an empty message")
	}
	return parts, nil
}

// syntaxError returns the line and column of a JSON error.
func syntaxError(text []byte, decoder *json.Decoder, err error) error {
	at := int(decoder.InputOffset())
	var wrong *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at, err = len(text), errors.New("unexpected end")
	case errors.As(err, &wrong):
		at = max(int(wrong.Offset)-1, 0)
	}
	before := text[:min(at, len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("not JSON at line %d, column %d: %w", line, column, err)
}

package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// action is what a template replaces.
var action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// split takes JSON apart: the elements of an array, or the values that follow each
// other. Where a template stands, a number of the same length is put for the time of
// splitting; it is JSON inside a string and outside of one. A text that is JSON only
// once its templates are filled is one message.
func split(text []byte) ([][]byte, error) {
	parts, err := values(text)
	if err != nil && control.Match(text) {
		return [][]byte{text}, nil
	}
	return parts, err
}

// control is a template that decides what else is there.
var control = regexp.MustCompile(`\{\{-?\s*(if|range|with|end|define|block|template)\b`)

func values(text []byte) (parts [][]byte, err error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // some editors begin files with it
	masked := action.ReplaceAllFunc(text, func(a []byte) []byte { return bytes.Repeat([]byte("1"), len(a)) })
	decoder := json.NewDecoder(bytes.NewReader(masked))
	array := bytes.HasPrefix(bytes.TrimSpace(masked), []byte("["))
	if array {
		if _, err := decoder.Token(); err != nil {
			return nil, unreadable(text, decoder, err)
		}
	}
	for !array || decoder.More() {
		var value json.RawMessage
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) && !array {
			break
		} else if err != nil {
			return nil, unreadable(text, decoder, err)
		}
		end := int(decoder.InputOffset())
		parts = append(parts, text[end-len(value):end])
	}
	if array {
		if _, err := decoder.Token(); err != nil {
			return nil, unreadable(text, decoder, err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("there is more after the array")
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("there is no message in it")
	}
	return parts, nil
}

// unreadable says at which line and column JSON ends to be JSON.
func unreadable(text []byte, decoder *json.Decoder, err error) error {
	at := int(decoder.InputOffset())
	var wrong *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at, err = len(text), errors.New("it ends too early")
	case errors.As(err, &wrong):
		at = max(int(wrong.Offset)-1, 0)
	}
	before := text[:min(at, len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("not JSON at line %d, column %d: %w", line, column, err)
}

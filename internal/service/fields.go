package service

import "strings"

// InFields returns an error about the files of methods whose remedies are fields of a service file, rather than flags
// of rpclab load.
func InFields(err error) error {
	if err == nil {
		return nil
	}
	text := flags.Replace(err.Error())
	if text == err.Error() {
		return err
	}
	return otherText{err, text}
}

var flags = strings.NewReplacer(
	"describe the methods with --proto FILE or --protoset FILE", "name the files that define the methods in proto or protoset of the service file",
	"send the metadata that it requires with --metadata", "set the metadata that it requires in metadata of the service file",
	"use --proto or --protoset", "set proto or protoset in the service file",
	"set --import-path to", "set import_paths in the service file to",
	"(a call has .Number and .Worker)", "(a call has .Number; from defines values of the calls before it in a flow)",
)

// otherText is an error with another text.
type otherText struct {
	error
	text string
}

func (e otherText) Error() string { return e.text }
func (e otherText) Unwrap() error { return e.error }

// FieldError is an error of a field of a call in a service file.
type FieldError struct {
	Call, Field string
	Err         error
}

// Error implements error.
func (e FieldError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e FieldError) Unwrap() error { return e.Err }

// in returns an error of a field of a call; nil if err is nil.
func (s Spec) in(field string, err error) error {
	if err == nil {
		return nil
	}
	return FieldError{s.Name, field, InFields(err)}
}

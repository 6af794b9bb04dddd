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
	return fieldError{err, text}
}

var flags = strings.NewReplacer(
	"describe the methods with --proto FILE or --protoset FILE", "name the files that define the methods in proto or protoset of the service file",
	"send the metadata that it requires with --metadata", "set the metadata that it requires in metadata of the service file",
	"use --proto or --protoset", "set proto or protoset in the service file",
	"set --import-path to", "set import_paths in the service file to",
	"(a call has .Number and .Worker)", "(a call has .Number; from defines values of the calls before it in a flow)",
)

// fieldError is an error with another text.
type fieldError struct {
	error
	text string
}

func (e fieldError) Error() string { return e.text }
func (e fieldError) Unwrap() error { return e.error }

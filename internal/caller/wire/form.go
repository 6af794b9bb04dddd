package wire

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"
)

// form is how messages are written.
type form struct {
	append func(to []byte, m proto.Message) ([]byte, error)
	read   func(p []byte, into proto.Message) error
}

var protobuf = form{
	func(to []byte, m proto.Message) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(to, m) },
	proto.Unmarshal,
}

// inJSON has the names of the fields as the generated messages' tags have them, which are those
// of the protobuf files (servers/CONTRACT.md).
var inJSON = form{
	func(to []byte, m proto.Message) ([]byte, error) {
		text, err := json.Marshal(m)
		return append(to, text...), err
	},
	func(p []byte, into proto.Message) error { return json.Unmarshal(p, into) },
}

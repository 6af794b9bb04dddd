package caller

import "rpclab/internal/security"

// The ways to call the calculator.
const (
	Bidi        = "bidi"         // questions and answers over two-way streams
	UnaryStream = "unary-stream" // questions are unary calls; answers come over a stream
)

// Styles are all of them.
var Styles = []string{Bidi, UnaryStream}

// When a user goes on who does not wait for answers.
const (
	Taken = "taken" // when the unary call has returned
	Sent  = "sent"  // when the message is on its way
)

// When a client makes a token.
const (
	Once  = "once"
	Every = "every" // for each call, of which a stream is one
)

// Calculations say how the calculator is called, and by whom.
type Calculations struct {
	Style   string `json:"style"`             // one of [Styles]
	Streams int    `json:"streams,omitempty"` // two-way ones, taken in turn; 0: one
	// Ahead is when a user goes on: when a question was [Taken] or [Sent]; empty: when it is
	// answered.
	Ahead    string         `json:"ahead,omitempty"`
	JWT      string         `json:"jwt,omitempty"`      // [Once] or [Every]; empty: there are no tokens
	Metadata int            `json:"metadata,omitempty"` // more keys and values with every call
	Party    security.Party `json:"party"`              // the client; its name is its identity
}

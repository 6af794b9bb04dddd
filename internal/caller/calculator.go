package caller

import "rpclab/internal/security"

// Styles of calling the calculator.
const (
	Bidi        = "bidi"         // requests and responses over bidirectional streams
	UnaryStream = "unary-stream" // unary requests; responses arrive on a server stream
)

// Styles lists every style.
var Styles = []string{Bidi, UnaryStream}

// When a user that does not wait for responses sends its next request.
const (
	WhenReceived = "taken" // after the unary call returned
	WhenSent     = "sent"  // after the message was written
)

// How often a client makes a token.
const (
	TokenOnce    = "once"
	TokenPerCall = "every" // for each call; a stream counts as one call
)

// CalculatorOptions say how the calculator is called, and with which identity.
type CalculatorOptions struct {
	Style   string `json:"style"`             // one of [Styles]
	Streams int    `json:"streams,omitempty"` // bidirectional streams, used in turn; 0: one
	// Ahead is when a user sends its next request: [WhenReceived] or [WhenSent]; empty: when the
	// response to the last one has arrived.
	Ahead    string          `json:"ahead,omitempty"`
	JWT      string          `json:"jwt,omitempty"`      // [TokenOnce] or [TokenPerCall]; empty: no tokens
	Metadata int             `json:"metadata,omitempty"` // further metadata entries of each call
	Security security.Config `json:"security"`           // policy and keys of the client; the key's name is its identity
}

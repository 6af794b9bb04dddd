package result

import (
	"crypto/sha256"
	"encoding/hex"
)

// Service is what an arm calls of a user's service, and how the server of that service runs. It contains no values of
// metadata and environment variables, which can be secrets.
type Service struct {
	Calls  map[string]ServiceCall `json:"calls"` // by name; empty: a client of the user's makes them
	Server ServiceServer          `json:"server"`
	TLS    bool                   `json:"tls,omitempty"` // of the connections to the server
}

// ServiceCall is one call of a service.
type ServiceCall struct {
	// Method is that of gRPC (package.Service/Method), or that of an HTTP request with its path (GET /orders).
	Method string `json:"method"`
	// DataHash is the [DataHash] of the data, or of the file that contains the data; empty: the call has none.
	DataHash string             `json:"data_hash,omitempty"`
	Metadata []string           `json:"metadata,omitempty"` // names, without values
	From     map[string]string  `json:"from,omitempty"`     // values of earlier answers of a flow, as expressions by name
	Check    string             `json:"check,omitempty"`    // condition that an answer must meet
	Stream   *ServiceCallStream `json:"stream,omitempty"`   // nil: the server ends the stream, or there is none
}

// ServiceCallStream says what a client sends on a stream, and when the client ends the stream.
type ServiceCallStream struct {
	Messages   int     `json:"messages,omitempty"` // responses after which it ends
	DurationMS float64 `json:"duration_ms,omitempty"`
	Requests   int     `json:"requests,omitempty"`
	PingPong   bool    `json:"ping_pong,omitempty"`
	Empty      bool    `json:"empty,omitempty"` // a stream without a response is right
}

// ServiceServer is how a server of a service runs: the fields that its file has, as the service file names them.
type ServiceServer struct {
	Command    []string `json:"command,omitempty"`
	Image      string   `json:"image,omitempty"`
	Args       []string `json:"args,omitempty"` // of the image
	Deployment string   `json:"deployment,omitempty"`
	Service    string   `json:"service,omitempty"`
	Addresses  []string `json:"addresses,omitempty"`
}

// DataHash returns a hash of the data of calls, which shows whether two runs sent the same. It has 16 bits, which do not
// suffice to find a password in the data by trying.
func DataHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:2])
}

// Package calculator is the part of a calculator client that does not depend on the library
// that carries its messages: it makes requests and matches responses to them.
package calculator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// Client is one client of the calculator. It is safe for concurrent use.
type Client struct {
	options       caller.CalculatorOptions
	question      workload.Calculate
	want          workload.Calculation
	signer        *security.Signer   // nil: requests are not signed
	verifier      *security.Verifier // nil: responses are not signed
	tokens        *security.Tokens   // nil: no tokens
	token         string             // sent with every call; empty: each call has its own
	extraMetadata []string           // metadata: key, value, ...
	nextNumber    atomic.Uint64

	mu      sync.Mutex
	pending map[uint64]*Call // waiting for a response
}

// tokenLifetime is how long a token for one call is valid.
const tokenLifetime = 5 * time.Minute

// New returns a client. It fails for an invalid calculation and if the keys that its policy
// requires are missing.
func New(options caller.CalculatorOptions, question workload.Calculate) (*Client, error) {
	if err := question.Check(); err != nil {
		return nil, err
	}
	if options.Security.Keys.Name == "" {
		return nil, errors.New("a calculator client needs a name")
	}
	client := &Client{options: options, question: question, pending: map[uint64]*Call{}}
	// A restarted client of the same name must not reuse message numbers: servers reject them.
	client.nextNumber.Store(uint64(time.Now().UnixMicro()))
	client.want, _ = question.Question("").Answer() // Check computed it without an error
	var errs [4]error
	keys := options.Security.Keys
	if options.Security.Policy.Signing {
		client.signer, errs[0] = keys.NewSigner()
		client.verifier, errs[1] = keys.NewVerifier()
	}
	if options.JWT != "" {
		client.tokens, errs[2] = keys.NewTokens()
	}
	if options.JWT == caller.TokenOnce && errs[2] == nil {
		client.token, errs[3] = client.tokens.Issue(security.Audience, security.Lifetime)
	}
	for i := range options.Metadata {
		client.extraMetadata = append(client.extraMetadata, fmt.Sprintf("x-extra-%d", i), strings.Repeat("v", extraValueBytes))
	}
	return client, errors.Join(errs[:]...)
}

// extraValueBytes is the length of each further metadata value.
const extraValueBytes = 32

// Name returns the client's identity.
func (c *Client) Name() string { return c.options.Security.Keys.Name }

// Metadata returns the keys and values of a new call: the client's identity, its token and the
// configured extra entries.
func (c *Client) Metadata() ([]string, error) {
	all := append([]string{security.ClientKey, c.Name()}, c.extraMetadata...)
	token := c.token
	if c.tokens != nil && token == "" {
		var err error
		if token, err = c.tokens.Issue(security.Audience, tokenLifetime); err != nil {
			return nil, fmt.Errorf("create a token: %w", err)
		}
	}
	if token != "" {
		all = append(all, security.TokenKey, security.Bearer+token)
	}
	return all, nil
}

// Call is a request that waits for its response.
type Call struct {
	number  uint64
	stream  any // the stream on which the response is expected
	outcome chan caller.Outcome
}

// Done returns a channel that receives the outcome once.
func (c *Call) Done() <-chan caller.Outcome { return c.outcome }

// NewCall makes a request. Call [Client.Register] before sending it.
func (c *Client) NewCall() (call *Call, message []byte, err error) {
	call = &Call{outcome: make(chan caller.Outcome, 1)}
	call.number, message, err = c.NextRequest()
	return call, message, err
}

// NextRequest makes the next request, for callers that keep track of their own calls.
func (c *Client) NextRequest() (number uint64, message []byte, err error) {
	number = c.nextNumber.Add(1) - 1
	message, err = json.Marshal(c.question.Question(workload.MessageID(c.Name(), number)))
	if err == nil && c.signer != nil {
		message, err = c.signer.Sign(message)
	}
	return number, message, err
}

// Register makes a call wait for a response on a stream, which is any comparable value.
func (c *Client) Register(call *Call, stream any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.stream = stream
	c.pending[call.number] = call
}

// Abandon stops waiting for a call's response.
func (c *Client) Abandon(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, call.number)
}

// Deliver completes the call that a response answers; a response that no call waits for is
// ignored. An error means that the sender cannot be trusted, so no call can be completed.
func (c *Client) Deliver(message []byte, backend string) error {
	number, wrong, err := c.ReadResponse(message, backend)
	if err != nil {
		return err
	}
	c.mu.Lock()
	call := c.pending[number]
	delete(c.pending, number)
	c.mu.Unlock()
	switch {
	case call == nil: // abandoned
	case wrong != nil:
		call.outcome <- caller.Outcome{Code: caller.DataLoss, Message: wrong.Error()}
	default:
		call.outcome <- caller.Outcome{Backend: backend, Code: measure.OK}
	}
	return nil
}

// ReadResponse returns the number of the request that a response answers, and what is wrong
// with the response. err means that the sender cannot be trusted.
func (c *Client) ReadResponse(message []byte, backend string) (number uint64, wrong, err error) {
	if c.verifier != nil {
		if message, _, err = c.verifier.Verify(message); err != nil {
			return 0, nil, err
		}
	}
	var got workload.Calculation
	if err := json.Unmarshal(message, &got); err != nil {
		return 0, nil, fmt.Errorf("the response is not a calculation: %w", err)
	}
	client, number, err := workload.ParseMessageID(got.ID)
	switch {
	case err != nil:
		return 0, nil, err
	case client != c.Name():
		return 0, nil, fmt.Errorf("the response %q belongs to another client", got.ID)
	}
	want := c.want
	want.ID = got.ID
	switch {
	case got != want:
		wrong = fmt.Errorf("wrong response %+v, want %+v", got, want)
	case backend == "":
		wrong = errors.New("the response does not name its backend")
	}
	return number, wrong, nil
}

// Fail ends every call that waits on a stream, or with stream nil every call.
func (c *Client) Fail(stream any, code, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, call := range c.pending {
		if stream == nil || call.stream == stream {
			delete(c.pending, number)
			call.outcome <- caller.Outcome{Code: code, Message: message}
		}
	}
}

// Package calculator is what any client of the calculator does, whatever library carries its
// messages: it makes questions, and knows which answer is whose.
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
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// Client is one client. Many goroutines may use it at once.
type Client struct {
	how      caller.Calculations
	question workload.Calculate
	want     workload.Calculation
	signer   *security.Signer   // nil: questions are not signed
	verifier *security.Verifier // nil: nor are answers
	tokens   *security.Tokens   // nil: there are none
	token    string             // of every call; empty: each has its own
	extra    []string           // metadata: key, value, ...
	number   atomic.Uint64

	mu    sync.Mutex
	calls map[uint64]*Call // that wait for an answer
}

// tokenLife is how long a token for one call holds.
const tokenLife = 5 * time.Minute

// New makes one. It fails for a calculation that nobody can do, and without the keys that its
// policy needs.
func New(how caller.Calculations, question workload.Calculate) (*Client, error) {
	if err := question.Check(); err != nil {
		return nil, err
	}
	if how.Party.Keys.Name == "" {
		return nil, errors.New("a client of the calculator has to have a name")
	}
	c := &Client{how: how, question: question, calls: map[uint64]*Call{}}
	// One that begins anew under the same name goes on behind what it said before.
	c.number.Store(uint64(time.Now().UnixMicro()))
	c.want, _ = question.Question("").Answer() // which Check has tried
	var errs [4]error
	keys := how.Party.Keys
	if how.Party.Policy.Signing {
		c.signer, errs[0] = keys.NewSigner()
		c.verifier, errs[1] = keys.NewVerifier()
	}
	if how.JWT != "" {
		c.tokens, errs[2] = keys.NewTokens()
	}
	if how.JWT == caller.Once && errs[2] == nil {
		c.token, errs[3] = c.tokens.Make(security.Audience, security.Life)
	}
	for i := range how.Metadata {
		c.extra = append(c.extra, fmt.Sprintf("x-extra-%d", i), strings.Repeat("v", extraBytes))
	}
	return c, errors.Join(errs[:]...)
}

// extraBytes is the length of a further value of metadata.
const extraBytes = 32

// Name is the client's identity.
func (c *Client) Name() string { return c.how.Party.Keys.Name }

// Metadata are keys and values of a call that begins: whose it is, its token, and more.
func (c *Client) Metadata() ([]string, error) {
	all := append([]string{security.ClientKey, c.Name()}, c.extra...)
	token := c.token
	if c.tokens != nil && token == "" {
		var err error
		if token, err = c.tokens.Make(security.Audience, tokenLife); err != nil {
			return nil, fmt.Errorf("make a token: %w", err)
		}
	}
	if token != "" {
		all = append(all, security.TokenKey, security.Bearer+token)
	}
	return all, nil
}

// Call is a question that waits for its answer.
type Call struct {
	number  uint64
	way     any // on which it went
	outcome chan Outcome
}

// Outcome is what became of a call.
type Outcome struct{ Backend, Code, Message string }

// Done yields the outcome, once.
func (c *Call) Done() <-chan Outcome { return c.outcome }

// Ask makes a question; Put has to say how it goes before it does.
func (c *Client) Ask() (call *Call, message []byte, err error) {
	call = &Call{outcome: make(chan Outcome, 1)}
	call.number, message, err = c.Question()
	return call, message, err
}

// Question makes one of the next number, for those who keep their own calls.
func (c *Client) Question() (number uint64, message []byte, err error) {
	number = c.number.Add(1) - 1
	message, err = json.Marshal(c.question.Question(workload.MessageID(c.Name(), number)))
	if err == nil && c.signer != nil {
		message, err = c.signer.Sign(message)
	}
	return number, message, err
}

// Put has a call wait for its answer on a way, any comparable value.
func (c *Client) Put(call *Call, way any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.way = way
	c.calls[call.number] = call
}

// GiveUp has a call wait no longer.
func (c *Client) GiveUp(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.number)
}

// Hear takes an answer that a backend sent. An error means that whoever sent it is not to be
// trusted: no call can be said to be answered. An answer that nobody waits for is none.
func (c *Client) Hear(message []byte, backend string) error {
	number, wrong, err := c.Answer(message, backend)
	if err != nil {
		return err
	}
	c.mu.Lock()
	call := c.calls[number]
	delete(c.calls, number)
	c.mu.Unlock()
	switch {
	case call == nil: // it was given up
	case wrong != nil:
		call.outcome <- Outcome{Code: Wrong, Message: wrong.Error()}
	default:
		call.outcome <- Outcome{Backend: backend, Code: ok}
	}
	return nil
}

// Answer says which question an answer is of, and what is wrong with it. An error means that
// whoever sent it is not to be trusted.
func (c *Client) Answer(message []byte, backend string) (number uint64, wrong, err error) {
	if c.verifier != nil {
		if message, _, err = c.verifier.Verify(message); err != nil {
			return 0, nil, err
		}
	}
	var got workload.Calculation
	if err := json.Unmarshal(message, &got); err != nil {
		return 0, nil, fmt.Errorf("the answer is no calculation: %w", err)
	}
	client, number, err := workload.ParseMessageID(got.ID)
	switch {
	case err != nil:
		return 0, nil, err
	case client != c.Name():
		return 0, nil, fmt.Errorf("the answer %q is another client's", got.ID)
	}
	want := c.want
	want.ID = got.ID
	switch {
	case got != want:
		wrong = fmt.Errorf("wrong answer %+v, want %+v", got, want)
	case backend == "":
		wrong = errors.New("the answer does not say which backend it is of")
	}
	return number, wrong, nil
}

// Wrong is the code of a call whose answer is not the right one.
const Wrong = "DATA_LOSS"

const ok = "OK"

// Fail ends every call that waits on a way; nil: on any.
func (c *Client) Fail(way any, code, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, call := range c.calls {
		if way == nil || call.way == way {
			delete(c.calls, number)
			call.outcome <- Outcome{Code: code, Message: message}
		}
	}
}

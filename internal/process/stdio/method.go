package stdio

import (
	"context"
	"encoding/json"
	"fmt"
)

// Method is the name of a method whose requests have parameters P and whose responses have a
// result R. rpclab and its child process use the same Method.
type Method[P, R any] string

// None is the type of the parameters or the result of a method without them.
type None struct{}

// Call sends a request and waits for the response. The error is the handler's ([*HandlerError]),
// that of a process that ended ([*ExitError]), or that of ctx.
func (m Method[P, R]) Call(ctx context.Context, c *Client, params P) (result R, err error) {
	err = c.call(ctx, string(m), params, &result)
	return result, err
}

// Handler handles the requests of one method.
type Handler struct {
	method string
	handle func(ctx context.Context, params json.RawMessage) (result any, err error)
}

// Handle returns the method's handler. The context of do ends with the parent process. If do
// returns an error, the parent receives its text. If do returns [Stop], the session then ends.
func (m Method[P, R]) Handle(do func(context.Context, P) (R, error)) Handler {
	return Handler{string(m), func(ctx context.Context, body json.RawMessage) (any, error) {
		var params P
		if err := json.Unmarshal(body, &params); err != nil {
			return nil, fmt.Errorf("decode the parameters of %s: %w", m, err)
		}
		return do(ctx, params)
	}}
}

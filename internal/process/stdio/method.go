package stdio

import (
	"context"
	"encoding/json"
	"fmt"
)

// Method is the name of a method whose requests have parameters P and whose answers have a
// result R. Both ends of a conversation share it.
type Method[P, R any] string

// None is the parameters or the result of a method that has none.
type None struct{}

// Call sends a request and waits for the answer. The error is the handler's ([*HandlerError]),
// that of a process that ended ([*ExitError]), or that of ctx.
func (m Method[P, R]) Call(ctx context.Context, c *Client, params P) (result R, err error) {
	err = c.call(ctx, string(m), params, &result)
	return result, err
}

// Handler answers the requests of one method.
type Handler struct {
	method string
	handle func(ctx context.Context, params json.RawMessage) (result any, err error)
}

// Handle returns the method's handler. The context of do ends with the parent process. The text
// of its error is sent to the parent; with [Stop] the conversation then ends.
func (m Method[P, R]) Handle(do func(context.Context, P) (R, error)) Handler {
	return Handler{string(m), func(ctx context.Context, body json.RawMessage) (any, error) {
		var params P
		if err := json.Unmarshal(body, &params); err != nil {
			return nil, fmt.Errorf("decode the parameters of %s: %w", m, err)
		}
		return do(ctx, params)
	}}
}

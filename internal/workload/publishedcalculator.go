package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// publishedCalculation is the content of a message of the published streams study. Its id is unique in one
// run of a client only, so repetitions of a message are not rejected.
type publishedCalculation struct {
	ID        int32  `json:"id"`
	X         int64  `json:"x"`
	Y         int64  `json:"y"`
	Operation string `json:"operation"`
	Result    int64  `json:"result"` // of isprime: 0
	IsPrime   bool   `json:"isPrime"`
}

// parsePublished decodes the content of a message of the published client.
func parsePublished(content []byte) (message publishedCalculation, err error) {
	if err := json.Unmarshal(content, &message); err != nil {
		return message, fmt.Errorf("the message is not a calculation: %w", err)
	}
	return message, nil
}

// answer returns the content of the response.
func (c publishedCalculation) answer() ([]byte, error) {
	answer, err := Calculation{X: c.X, Y: c.Y, Operation: strings.ToLower(c.Operation)}.Answer()
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	c.Result, c.IsPrime = answer.Result, answer.IsPrime
	if answer.Operation == IsPrime {
		c.Result = 0
	}
	return json.Marshal(c)
}

// streamPatience is how long a call waits for the client's response stream.
const streamPatience = 2 * time.Second

// awaitStream is begin for the published client, which opens its response stream without waiting until the
// server has registered it.
func (c *calculatorClient) awaitStream(ctx context.Context) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, streamPatience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if c.begin() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The operations of study 4.
const (
	Add      = "add"
	Subtract = "subtract"
	IsPrime  = "isprime" // of x, at a cost that grows with its square root
)

// Operations are all of them.
var Operations = []string{Add, Subtract, IsPrime}

// Calculate is CalculatorService of study 4: every call is the same calculation. Callers
// know it by themselves, since its answers may come over another stream.
type Calculate struct {
	X         int64  `json:"x"`
	Y         int64  `json:"y"`
	Operation string `json:"operation"`
}

func (Calculate) args() []string { return nil }

func (Calculate) unary() (Unary, error) {
	return Unary{}, errors.New("a calculation is no call like others: its caller needs a style")
}

// Calculation is the content of a message, a question or its answer.
type Calculation struct {
	ID        string `json:"id"` // [MessageID]
	X         int64  `json:"x"`
	Y         int64  `json:"y"`
	Operation string `json:"operation"`
	Result    int64  `json:"result"`
	IsPrime   bool   `json:"isPrime"`
}

// Question is the calculation as a client asks for it.
func (c Calculate) Question(id string) Calculation {
	return Calculation{ID: id, X: c.X, Y: c.Y, Operation: c.Operation}
}

// Answer is the calculation with its result. It fails for an operation that there is not, and
// where the result has no room in 64 bits.
func (c Calculation) Answer() (Calculation, error) {
	switch c.Operation {
	case Add:
		c.Result = c.X + c.Y
		if (c.Result > c.X) != (c.Y > 0) && c.Y != 0 {
			return c, fmt.Errorf("%d + %d is more than 64 bits", c.X, c.Y)
		}
	case Subtract:
		c.Result = c.X - c.Y
		if (c.Result < c.X) != (c.Y > 0) && c.Y != 0 {
			return c, fmt.Errorf("%d - %d is more than 64 bits", c.X, c.Y)
		}
	case IsPrime:
		c.Result = 0
		if c.IsPrime = prime(c.X); c.IsPrime {
			c.Result = 1
		}
	default:
		return c, fmt.Errorf("no operation %q: take one of %s", c.Operation, strings.Join(Operations, ", "))
	}
	return c, nil
}

// prime tries every divisor up to the root of n, as study 4 did: it is a load, not a method.
func prime(n int64) bool {
	if n < 4 {
		return n > 1
	}
	if n%2 == 0 {
		return false
	}
	for d := int64(3); d <= n/d; d += 2 {
		if n%d == 0 {
			return false
		}
	}
	return true
}

// Check says what is wrong with the calculation itself.
func (c Calculate) Check() error {
	if !slices.Contains(Operations, c.Operation) {
		return fmt.Errorf("no operation %q: take one of %s", c.Operation, strings.Join(Operations, ", "))
	}
	_, err := Calculation{X: c.X, Y: c.Y, Operation: c.Operation}.Answer()
	return err
}

// MessageID binds a message to its client and to its number there, in all that is signed.
func MessageID(client string, n uint64) string { return client + "/" + strconv.FormatUint(n, 10) }

// ParseMessageID is the reverse of [MessageID].
func ParseMessageID(id string) (client string, n uint64, err error) {
	at := strings.LastIndexByte(id, '/')
	if at < 1 {
		return "", 0, fmt.Errorf("the id %q is not CLIENT/NUMBER", id)
	}
	if n, err = strconv.ParseUint(id[at+1:], 10, 64); err != nil || n == math.MaxUint64 {
		return "", 0, fmt.Errorf("the id %q is not CLIENT/NUMBER", id)
	}
	return id[:at], n, nil
}

// parseCalculation reads the content of a message.
func parseCalculation(content []byte) (c Calculation, err error) {
	if err := json.Unmarshal(content, &c); err != nil {
		return c, fmt.Errorf("the message is no calculation: %w", err)
	}
	return c, nil
}

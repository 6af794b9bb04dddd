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

// Operations of the calculator.
const (
	Add      = "add"
	Subtract = "subtract"
	IsPrime  = "isprime" // whether x is prime; the CPU time grows with the square root of x
)

// Operations lists every operation.
var Operations = []string{Add, Subtract, IsPrime}

// Calculate is CalculatorService: every call is the same calculation. Callers check answers
// themselves, because a response may arrive on another stream.
type Calculate struct {
	X         int64  `json:"x"`
	Y         int64  `json:"y"`
	Operation string `json:"operation"`
}

func (Calculate) args() []string { return nil }

func (Calculate) unary() (Unary, error) {
	return Unary{}, errors.New("the workload calculate has no unary call: set caller.style")
}

// Calculation is the content of a message: a request or its response.
type Calculation struct {
	ID        string `json:"id"` // [MessageID]
	X         int64  `json:"x"`
	Y         int64  `json:"y"`
	Operation string `json:"operation"`
	Result    int64  `json:"result"`
	IsPrime   bool   `json:"isPrime"`
}

// Question returns the content of a request.
func (c Calculate) Question(id string) Calculation {
	return Calculation{ID: id, X: c.X, Y: c.Y, Operation: c.Operation}
}

// Answer returns the calculation with its result. It fails for an unknown operation and when the
// result does not fit in 64 bits.
func (c Calculation) Answer() (Calculation, error) {
	switch c.Operation {
	case Add:
		c.Result = c.X + c.Y
		if (c.Result > c.X) != (c.Y > 0) && c.Y != 0 {
			return c, fmt.Errorf("%d + %d does not fit in 64 bits", c.X, c.Y)
		}
	case Subtract:
		c.Result = c.X - c.Y
		if (c.Result < c.X) != (c.Y > 0) && c.Y != 0 {
			return c, fmt.Errorf("%d - %d does not fit in 64 bits", c.X, c.Y)
		}
	case IsPrime:
		c.Result = 0
		if c.IsPrime = isPrime(c.X); c.IsPrime {
			c.Result = 1
		}
	default:
		return c, fmt.Errorf("unknown operation %q: use one of %s", c.Operation, strings.Join(Operations, ", "))
	}
	return c, nil
}

// isPrime tries every odd divisor up to the square root of n, to use CPU time as the published
// calculator does.
func isPrime(n int64) bool {
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

// Check returns an error for a calculation that cannot be answered.
func (c Calculate) Check() error {
	if !slices.Contains(Operations, c.Operation) {
		return fmt.Errorf("unknown operation %q: use one of %s", c.Operation, strings.Join(Operations, ", "))
	}
	_, err := Calculation{X: c.X, Y: c.Y, Operation: c.Operation}.Answer()
	return err
}

// MessageID returns the id of a client's message. The id is part of the signed content.
func MessageID(client string, n uint64) string { return client + "/" + strconv.FormatUint(n, 10) }

// ParseMessageID reverses [MessageID].
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

// parseCalculation decodes the content of a message.
func parseCalculation(content []byte) (calculation Calculation, err error) {
	if err := json.Unmarshal(content, &calculation); err != nil {
		return calculation, fmt.Errorf("the message is not a calculation: %w", err)
	}
	return calculation, nil
}

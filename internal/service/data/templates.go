package data

import (
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"text/template"
	"time"
)

// functions are available in templates.
var functions = template.FuncMap{
	"uuid":         uuid,
	"randomInt":    randomInt,
	"randomString": randomString,
	"now":          func() string { return time.Now().UTC().Format(time.RFC3339Nano) },
	"unixMilli":    func() int64 { return time.Now().UnixMilli() },
}

// uuid returns a random UUID (version 4, RFC 9562, section 5.4).
func uuid() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// randomInt returns an integer from low to high, inclusive.
func randomInt(low, high int64) (int64, error) {
	if high < low || high-low < 0 || high-low+1 <= 0 {
		return 0, fmt.Errorf("randomInt %d %d: the second number must not be smaller than the first", low, high)
	}
	return low + random.Int64N(high-low+1), nil
}

// randomString returns random letters and digits.
func randomString(length int) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	if length < 0 || length > 1<<20 {
		return "", errors.New("randomString: the length must be 0 to 1048576")
	}
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text), nil
}

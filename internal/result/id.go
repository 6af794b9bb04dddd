package result

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID returns the ID of a run that starts at t, such as 20261120-184512-x7k2: the time in UTC
// and four random characters. IDs sort by time, in steps of a second.
func NewID(t time.Time) string {
	return t.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

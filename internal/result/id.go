package result

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID names a run that starts at t: 20261120-184512-x7k2, the time in UTC and
// four random characters. Names sort by time; those of one second sort by chance.
func NewID(t time.Time) string {
	return t.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

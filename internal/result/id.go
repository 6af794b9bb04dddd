package result

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// NewID returns the ID of a run that starts at t, such as 20261120-184512-x7k2: the time in UTC
// and four random characters. IDs sort by time, in steps of a second.
func NewID(t time.Time) string {
	return t.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// ErrID means that a text cannot be the ID of a run.
var ErrID = errors.New("not the ID of a run: an ID has at most 100 letters, digits, hyphens, dots and underscores, begins with a letter or digit, and is not latest")

// latest stands for the newest run.
const latest = "latest"

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CheckID returns an error that wraps [ErrID] if a text cannot be the ID of a run: it names files, and is an argument of
// commands, where latest is the newest run.
func CheckID(id string) error {
	if !validID.MatchString(id) || id == latest {
		return fmt.Errorf("%.120q is %w", id, ErrID)
	}
	return nil
}

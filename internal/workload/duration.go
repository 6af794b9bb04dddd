package workload

import (
	"strings"
	"time"
)

// DurationArg writes a duration as an argument of a server, such as 500us. It is ASCII, because Java in the C locale
// cannot read the µ that Go writes.
func DurationArg(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

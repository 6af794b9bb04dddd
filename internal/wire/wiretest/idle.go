package wiretest

import (
	"time"

	"golang.org/x/net/http2"
)

// These servers show what they are when a client leaves its connection alone, so they
// are not among [Scenarios], whose clients always have calls to make.

// SilentAfter is a server that says no more on its first connection after so many
// answers: neither to calls nor to PINGs.
func SilentAfter(answers int) Scenario {
	return idle("silent", script{
		connections: 1,
		answer: func(p *serverConn, id uint32) error {
			if p.answered > answers {
				return nil
			}
			return p.ok(id)
		},
		ping: func(p *serverConn) (bool, error) { return p.answered < answers, nil },
	})
}

// ClosesIdle is a server that ends connections on which nothing arrives for so long.
func ClosesIdle(after time.Duration) Scenario {
	return idle("closes idle connections", script{idleTimeout: after})
}

// TooManyPings is a server that ends connections with two PINGs sooner after each
// other than so long, as gRPC servers do.
func TooManyPings(sooner time.Duration) Scenario {
	return idle("too many pings", script{ping: func(p *serverConn) (bool, error) {
		last := p.pinged
		p.pinged = time.Now()
		if last.IsZero() || p.pinged.Sub(last) >= sooner {
			return true, nil
		}
		if err := p.framer.WriteGoAway(p.client.lastID, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings")); err != nil {
			return false, err
		}
		return false, errEnd
	}})
}

func idle(name string, s script) Scenario {
	return valid([]Scenario{{Name: name, script: s}})[0]
}

package web

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of logins and wrong tokens from one address, so that a program can neither guess many tokens nor keep
// many logins open.
const (
	loginBurst        = 10
	loginInterval     = 6 * time.Second // between two logins after the burst
	maxOpenLogins     = 4               // at a time
	maxLoginAddresses = 1024            // that the server remembers
)

// logins limits the logins of each address.
type logins struct {
	mu   sync.Mutex
	from map[netip.Addr]*loginsFrom
}

type loginsFrom struct {
	rate *rate.Limiter
	open int
}

func newLogins() *logins { return &logins{from: map[netip.Addr]*loginsFrom{}} }

// begin counts a login, which lasts until done. With too many logins it returns how long the client
// should wait instead.
func (l *logins) begin(remote string, now time.Time) (done func(), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	address := client(remote)
	of := l.from[address]
	if of == nil {
		if len(l.from) >= maxLoginAddresses {
			l.forget(now)
		}
		if len(l.from) >= maxLoginAddresses {
			return nil, loginInterval
		}
		of = &loginsFrom{rate: rate.NewLimiter(rate.Every(loginInterval), loginBurst)}
		l.from[address] = of
	}
	if of.open >= maxOpenLogins || !of.rate.AllowN(now, 1) {
		return nil, loginInterval
	}
	of.open++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		of.open--
	}, 0
}

// forget removes the addresses that have all their logins again.
func (l *logins) forget(now time.Time) {
	for address, of := range l.from {
		if of.open == 0 && of.rate.TokensAt(now) >= loginBurst {
			delete(l.from, address)
		}
	}
}

// client returns the address of a client. One client may have every IPv6 address of a network.
func client(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address := at.Addr().Unmap()
	if address.Is4() {
		return address
	}
	network, err := address.Prefix(64)
	if err != nil {
		return address
	}
	return network.Addr()
}

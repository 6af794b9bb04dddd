package overhttp

import (
	"context"
	"net/http"
	"sync"

	"rpclab/internal/caller"
)

// clients are those of users who have one each.
type clients struct {
	mu  sync.Mutex
	all map[int]*http.Transport
}

// transport is the client of the user whose call it is, or the one that all share.
func (s *session) transport(ctx context.Context) *http.Transport {
	user, ok := caller.User(ctx)
	if !ok || s.job.Channels.Mode != caller.PerUser {
		return s.client
	}
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	if s.users.all == nil {
		s.users.all = map[int]*http.Transport{}
	}
	if s.users.all[user] == nil {
		s.users.all[user] = s.client.Clone()
	}
	return s.users.all[user]
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.all {
		client.CloseIdleConnections()
	}
}

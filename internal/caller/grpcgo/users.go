package grpcgo

import (
	"errors"
	"sync"

	"google.golang.org/grpc"
)

// users are the channels of those who have one each.
type users struct {
	mu       sync.Mutex
	channels map[int]*grpc.ClientConn
}

// channelOf is a user's own, which connects at his first call.
func (s *session) channelOf(user int) (*grpc.ClientConn, error) {
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	if channel := s.users.channels[user]; channel != nil {
		return channel, nil
	}
	if s.users.channels == nil {
		s.users.channels = map[int]*grpc.ClientConn{}
	}
	channel, err := grpc.NewClient(s.uri, s.options...)
	if err == nil {
		s.users.channels[user] = channel
	}
	return channel, err
}

func (u *users) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var errs []error
	for _, channel := range u.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}

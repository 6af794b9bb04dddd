package pace

// Share is what caller i (from 0) of n makes of a load, so that all of them together make
// the whole: users, the calls of a burst and the bound in flight are dealt out evenly, what
// is over to the first, and calls of users go with these. Of a rate, each makes every n-th
// call; at random (Poisson), each draws from a seed of its own, since the sum of
// independent Poisson processes is one. There have to be as many users as callers, and as
// many calls as users: a share of none is no share.
func (s Spec) Share(i, n int) Spec {
	switch {
	case s.Burst != nil:
		return Spec{Burst: &Burst{Calls: part(s.Burst.Calls, i, n)}}
	case s.Closed != nil:
		c := *s.Closed
		c.Users = part(c.Users, i, n)
		before, all := uint64(i*(s.Closed.Users/n)+min(i, s.Closed.Users%n)), uint64(s.Closed.Users)
		c.Calls = s.Closed.Calls*(before+uint64(c.Users))/all - s.Closed.Calls*before/all
		return Spec{Closed: &c}
	case s.Rate != nil:
		r := *s.Rate
		r.Max = part(r.Max, i, n)
		r.Of, r.Nth = uint64(n), uint64(i)
		r.Seed += uint64(i) * 0xd1b54a32d192ed03 // any odd number that is not the stream's own step
		return Spec{Rate: &r}
	}
	return s
}

// part is the i-th (from 0) of n parts of a whole.
func part(whole, i, n int) int {
	share := whole / n
	if i < whole%n {
		share++
	}
	return share
}

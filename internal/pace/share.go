package pace

// Share is what caller i (from 0) of n makes of a load, so that all of them together make
// the whole: calls, users and the bound in flight are dealt out evenly, what is over to
// the first. Of a rate, each makes every n-th call; at random (Poisson), each draws from a
// seed of its own, since the sum of independent Poisson processes is one. A share is empty
// where there is less to deal out than there are callers.
func (s Spec) Share(i, n int) Spec {
	switch {
	case s.Burst != nil:
		return Spec{Burst: &Burst{Calls: part(s.Burst.Calls, i, n)}}
	case s.Closed != nil:
		c := *s.Closed
		c.Users = part(c.Users, i, n)
		c.Calls = part(c.Calls, uint64(i), uint64(n))
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
func part[N int | uint64](whole, i, n N) N {
	share := whole / n
	if i < whole%n {
		share++
	}
	return share
}

package experiment

import "strings"

// checkShares: there is enough of a load for every caller.
func (d *document) checkShares(config Config, n *node, c *problems) {
	callers, load := config.Callers, config.Load
	if callers <= 1 {
		return
	}
	at := func(path string) place {
		found, _ := n.find(strings.Split(path, "."))
		return found.at
	}
	if load.Sequence > 0 {
		c.add(at("load.sequence"), "a sequence makes one call after the other, which %d callers cannot share: "+
			"take load.closed, or leave out callers", callers)
	}
	enough := func(path string, there int) {
		if there < callers {
			c.add(at(path), "%s is %d, less than one for each of %d callers: raise it, or lower callers", path, there, callers)
		}
	}
	if load.Burst > 0 {
		enough("load.burst", load.Burst)
	}
	if closed := load.Closed; closed != nil {
		enough("load.closed.users", closed.Users)
		if closed.Calls > 0 && closed.Calls < closed.Users { // a share of none would have no bound
			c.add(at("load.closed.calls"), "load.closed.calls is %d, less than one for each of %d users whom %d callers share: raise it, or leave out callers",
				closed.Calls, closed.Users, callers)
		}
	}
	if open := load.Open; open != nil {
		enough("load.open.max_in_flight", open.MaxInFlight)
		if due := int(open.Rate * open.Duration.Seconds()); due < callers {
			c.add(at("load.open.rate"), "%d calls are due in load.open.duration, less than one for each of %d callers: raise one of them, or lower callers", due, callers)
		}
	}
	if search := load.Search; search != nil {
		enough("load.search.max_in_flight", search.MaxInFlight)
	}
}

package wire

import "errors"

// checkConnected sends the result of Connect when there is one. It runs after each of thousands of
// connections, so it continues at the first channel that was not connected. At the end it checks all
// channels again, since a connection may have been lost meanwhile.
func (c *core) checkConnected() {
	if c.connectResult == nil {
		return
	}
	if c.pool != nil {
		if open, why := c.pool.initialConnected(); why != "" {
			c.reportConnected(errors.New("wire: " + why))
		} else if open {
			c.reportConnected(nil)
		}
		return
	}
	for all := c.channelsConnected == 0; ; c.channelsConnected, all = 0, true {
		for ; c.channelsConnected < len(c.channels); c.channelsConnected++ {
			if open, why := c.channels[c.channelsConnected].connected(); why != "" {
				c.reportConnected(errors.New("wire: " + why))
				return
			} else if !open {
				return
			}
		}
		if all {
			c.reportConnected(nil)
			return
		}
	}
}

func (c *core) reportConnected(err error) {
	c.connectResult <- err
	c.connectResult = nil
}

// connected reports whether every connection is open, or idle after it was open, or has failed while
// another is open, and why none can be.
func (ch *channel) connected() (all bool, why string) {
	if len(ch.subchannels) == 0 {
		return false, ch.core.noAddress
	}
	working := false
	for _, sub := range ch.subchannels {
		if sub.failure == "" && !sub.isReady && !sub.idle {
			return false, ""
		}
		if working = working || sub.failure == ""; sub.failure != "" {
			why = sub.failure
		}
	}
	if working { // round_robin leaves out the addresses that fail
		return true, ""
	}
	return false, why
}

// initialConnected reports whether the initial connections are open or were open, and why that
// cannot be.
func (p *pool) initialConnected() (all bool, why string) {
	if len(p.core.addrs) == 0 {
		return false, p.core.noAddress
	}
	return p.initial == 0, p.lastFailure
}

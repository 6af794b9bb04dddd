package wiretest

// validWrites are servers whose bytes arrive in unusual pieces.
func validWrites() []Scenario {
	return []Scenario{
		{Name: "one byte a write", Source: "TCP keeps no boundaries", Calls: 8, script: script{
			output: func(o *output) { o.piece = 1 },
		}},
		{Name: "seven bytes a write", Source: "TCP keeps no boundaries", script: script{
			output: func(o *output) { o.piece = 7 },
		}},
		{Name: "answers split at every byte", Source: "TCP keeps no boundaries", Calls: 160, InFlight: 1, script: script{
			output: func(o *output) { o.split = true },
			answer: func(p *serverConn, id uint32) error {
				p.out.cut = p.answered
				return p.ok(id)
			},
		}},
		{Name: "many answers a write", Source: "TCP keeps no boundaries", Calls: 200, InFlight: 20, script: script{
			output: func(o *output) { o.hold = true },
			answer: func(p *serverConn, id uint32) error { return p.later(id, (*serverConn).each) },
		}},
		{Name: "answers in the reverse order", Source: "RFC 9113, section 5", Calls: 100, InFlight: 10, script: script{
			answer: func(p *serverConn, id uint32) error {
				return p.later(id, func(p *serverConn, ids []uint32) error {
					for i := range ids {
						if err := p.ok(ids[len(ids)-1-i]); err != nil {
							return err
						}
					}
					return nil
				})
			},
		}},
		{Name: "answers that take turns frame by frame", Source: "RFC 9113, section 5", Calls: 60, InFlight: 6, script: script{
			answer: func(p *serverConn, id uint32) error { return p.later(id, inTurns) },
		}},
	}
}

func inTurns(p *serverConn, ids []uint32) error {
	reply := p.reply()
	turns := []func(id uint32) error{
		func(id uint32) error { return p.headers(id, false, opening...) },
		func(id uint32) error { return p.framer.WriteData(id, false, reply[:7]) },
		func(id uint32) error { return p.framer.WriteData(id, false, reply[7:]) },
		func(id uint32) error { return p.headers(id, true, trailing...) },
	}
	for _, turn := range turns {
		for _, id := range ids {
			if err := turn(id); err != nil {
				return err
			}
		}
	}
	return nil
}

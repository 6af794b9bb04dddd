package wire

// Connections returns how many connections the engine has opened so far.
func (e *Engine) Connections() (opened int) {
	for _, core := range e.cores {
		counted := make(chan struct{})
		if core.post(func() { opened += int(core.generation); close(counted) }) { // each has a generation of its own
			<-counted
		}
	}
	return opened
}

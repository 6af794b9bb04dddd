package result

// Bound is the most calls per second that an arm's users and threads allow, whatever answers
// them: min(users ÷ (service + think), threads ÷ service). While users begin there are fewer of
// them, so both are means over the load.
type Bound struct {
	Rate      float64 `json:"rate"`                       // calls/s
	Binds     string  `json:"binds" enum:"users,threads"` // which of the two is less
	ServiceMS float64 `json:"service_ms"`                 // the mean wait of a call at the server
	Users     float64 `json:"users"`                      // the mean number over the load
	Threads   int     `json:"threads,omitempty"`          // of all servers; 0: nothing bounds them
	Reached   float64 `json:"reached,omitempty"`          // as a share of it, what the arm answered well in a second
}

package result

// Published is one figure of the study that the experiment replaces: a fact to
// print beside ours, never a result.
type Published struct {
	Arm       string  `json:"arm"`
	Cell      Cell    `json:"cell"`
	ElapsedMS float64 `json:"elapsed_ms,omitempty"`
	Rate      float64 `json:"rate,omitempty"` // calls/s
	P95       float64 `json:"p95_ms,omitempty"`
	RSS       float64 `json:"rss_mb,omitempty"` // of a server
	Note      string  `json:"note,omitempty"`   // "crash", "all on one pod"
}

package experiment

import "slices"

// Calculate is the workload of study 4.
type Calculate struct {
	X         int    `yaml:"x" doc:"the first number; the cost of isprime grows with its root" default:"1000000000037"`
	Y         int    `yaml:"y" doc:"the second number" default:"1"`
	Operation string `yaml:"operation" doc:"add, subtract, or isprime of x" enum:"add,subtract,isprime" default:"isprime"`
}

// checkCalculate: what belongs to calculations stands with them, and they have all of it.
func (d *document) checkCalculate(config Config, place func(...string) place, c *problems) {
	who, can := config.Caller, d.grammar.vocabulary.able("calculate")
	if config.Workload.Calculate == nil {
		for field, set := range map[string]bool{
			"style": who.Style != "", "streams": who.Streams > 1, "ahead": who.Ahead != "", "jwt": said(who.JWT), "signing": who.Signing, "metadata": who.Metadata > 0,
		} {
			if set {
				c.add(place("caller", field), "caller.%s is of calculations: set workload to calculate", field)
			}
		}
		if said(config.Server.Security) {
			c.add(place("server", "security"), "server.security is of calculators: set workload to calculate")
		}
		return
	}
	switch {
	case config.Server.Language != "go":
		c.add(place("server", "language"), "servers in %s do not calculate: take go", config.Server.Language)
	case !slices.Contains(can, who.Kind):
		c.add(place("caller", "kind"), "the caller %s does not calculate: take the caller %s", who.Kind, either(can))
	case config.Gateway != nil:
		c.add(place("gateway"), "a gateway does not calculate: leave it out")
	case who.Style == "":
		c.add(place("workload"), "calculations need caller.style: bidi or unary-stream")
	case who.Style != "bidi" && who.Streams > 1:
		c.add(place("caller", "streams"), "caller.streams are two-way: set caller.style to bidi")
	case who.Ahead != "" && !slices.Contains(d.grammar.vocabulary.able("ahead"), who.Kind):
		c.add(place("caller", "ahead"), "users of the caller %s wait for their answers: leave out caller.ahead, or take %s", who.Kind, either(d.grammar.vocabulary.able("ahead")))
	case who.Style == "bidi" && who.Ahead == "taken":
		c.add(place("caller", "ahead"), "nobody says that a message of a stream is taken: set caller.ahead to sent")
	case who.Channel.Mode == "per-call", who.Channel.Mode == "per-user":
		c.add(place("caller", "channel"), "a client of a calculator has its streams for all its calls: set caller.channel to shared, or to a pool")
	case who.Hedge != nil, who.Retry != nil:
		c.add(place("workload"), "calculations are neither tried again nor hedged: leave out caller.retry and caller.hedge")
	case said(config.Server.Security) && slices.Contains(d.grammar.vocabulary.Proxied, config.Route):
		c.add(place("route"), "route %s has a proxy that would have to end the encryption: take another, or set server.security to none", config.Route)
	}
}

// said says whether a word asks for anything.
func said(word string) bool { return word != "" && word != "none" }

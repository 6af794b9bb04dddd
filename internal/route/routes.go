package route

// routes are all routes, in the order in which help shows them.
var routes = []Route{}

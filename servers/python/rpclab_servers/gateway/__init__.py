"""The HTTP interface of the published balancing study: a request makes gRPC calls and returns the servers that answered."""

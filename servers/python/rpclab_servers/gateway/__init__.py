"""The HTTP interface of study 1: a request makes gRPC calls, and says who answered them."""

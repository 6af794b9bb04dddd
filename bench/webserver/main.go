// Command webserver is a minimal net/http server, for benchmarks of clients.
//
//	webserver -listen 127.0.0.1:8080
package main

import (
	"flag"
	"io"
	"log"
	"net/http"
	"time"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	server := &http.Server{Addr: *listen, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(hello)}
	log.Fatalf("webserver: %v", server.ListenAndServe())
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Hello, rpclab") }

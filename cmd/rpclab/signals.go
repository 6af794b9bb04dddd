package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is a context that ends with the first interrupt: by Ctrl-C, SIGTERM, or the
// end of the terminal, unless that is ignored (nohup). A second Ctrl-C ends the process at
// once.
func interruptible() (context.Context, context.CancelFunc) {
	asked := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		asked = append(asked, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), asked...)
	context.AfterFunc(ctx, func() {
		// A terminal that ends says so twice, once itself and once by the shell, and takes those
		// with it who read what is said: neither keeps us from cleaning up.
		signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
		stop()
	})
	return ctx, stop
}

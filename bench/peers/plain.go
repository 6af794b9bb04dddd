package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// plainGenerators are the generators for HTTP/1.1, which has one request at a time on a connection,
// in the order of the page.
func plainGenerators(t tools, reportFile string) []generator {
	url := func(addr string) string { return "http://" + addr + "/" }
	calls := [2]int{100_000, 40_000}
	return []generator{
		{
			Name: ours, Plain: true, Version: "this tree", Calls: calls, read: readRpclab,
			Note: "`--http GET`, which opens connections when calls need them",
			run: func(addr string, calls int, s shape) command {
				return command{report: reportFile, args: []string{t.rpclab, "load", "--http", "GET", "--json", reportFile, "--no-store",
					"--calls", strconv.Itoa(calls), "--concurrency", strconv.Itoa(s.Connections), url(addr)}}
			},
		},
		{
			Name: "its engine", Plain: true, Version: "this tree", Calls: calls, read: readWirebench,
			Note: "`bench/wirebench -http`, which checks the body of every answer",
			run: func(addr string, calls int, s shape) command {
				users := strconv.Itoa(s.Connections)
				return command{args: []string{t.wirebench, "-http", "-calls", strconv.Itoa(calls), "-users", users, "-connections", users, addr}}
			},
		},
		{
			Name: "wrk", Plain: true, Timed: true, Version: t.wrkAt, read: readWrk,
			Note: "one thread; it runs for a second and not for a number of calls, so its start-up is not subtracted",
			run: func(addr string, _ int, s shape) command {
				return command{args: []string{t.wrk, "-t", "1", "-c", strconv.Itoa(s.Connections), "-d", "1s", url(addr)}}
			},
		},
		{
			Name: "h2load", Plain: true, Version: t.h2loadAt, Calls: calls, read: readH2load,
			Note: "one thread, `--h1`",
			run: func(addr string, calls int, s shape) command {
				return command{args: []string{t.h2load, "--h1", "-t", "1", "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections), url(addr)}}
			},
		},
	}
}

var (
	wrkCount  = regexp.MustCompile(`(\d+) requests in `)
	wrkFailed = regexp.MustCompile(`Socket errors:.*|Non-2xx or 3xx responses:.*`)
)

// readWrk reads the number of answers. wrk reports failures only when there are some.
func readWrk(r report) (got outcome, err error) {
	if failed := wrkFailed.Find(r.stdout); failed != nil {
		return got, fmt.Errorf("wrk saw failures: %s", failed)
	}
	count := wrkCount.FindSubmatch(r.stdout)
	if count == nil {
		return got, fmt.Errorf("the output of wrk has no number of requests: %.200s", r.stdout)
	}
	got.answered, err = strconv.Atoi(string(count[1]))
	return got, err
}

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// plainGenerators are the generators for HTTP/1.1, which has one request at a time on a connection,
// in the order of the page.
func plainGenerators(t tools, dir, reportFile string) []generator {
	url := func(addr string) string { return "http://" + addr + "/" }
	greet := func(addr string) string { return url(addr) + "greet" }
	calls := [2]int{100_000, 40_000}
	return []generator{
		{
			Name: ours, Plain: true, Version: "this tree", Calls: calls, read: readRpclab,
			Note: "`--http GET`, which opens connections when calls need them",
			run: func(addr string, calls int, s shape) command {
				return command{report: reportFile, args: []string{t.rpclab, "load", "--http", "GET", "--json", reportFile, "--no-store",
					"--calls", strconv.Itoa(calls), "--concurrency", strconv.Itoa(s.Connections), url(addr)}}
			},
			agree: func(addr string, calls int, s shape) command {
				return command{report: reportFile, args: []string{t.rpclab, "load", "--http", "POST", "-d", greeting, "--json", reportFile, "--no-store",
					"--calls", strconv.Itoa(calls), "--concurrency", strconv.Itoa(s.Connections), greet(addr)}}
			},
		},
		{
			Name: "rpclab's engine alone", Plain: true, Version: "this tree", Calls: calls, read: readWirebench,
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
			agree: func(addr string, _ int, s shape) command {
				return command{args: []string{t.wrk, "-t", "1", "-c", strconv.Itoa(s.Connections), "-d", "2s", "--latency", "-s", filepath.Join(dir, "post.lua"), greet(addr)}}
			},
		},
		{
			Name: "h2load", Plain: true, Version: t.h2loadAt, Calls: calls, read: readH2load,
			Note: "one thread, `--h1`",
			run: func(addr string, calls int, s shape) command {
				return command{args: []string{t.h2load, "--h1", "-t", "1", "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections), url(addr)}}
			},
			agree: func(addr string, calls int, s shape) command {
				return command{report: reportFile, args: []string{t.h2load, "--h1", "-t", "1", "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections),
					"-d", filepath.Join(dir, "greeting.json"), "-H", "content-type: application/json", "--log-file", reportFile, greet(addr)}}
			},
		},
		k6OverHTTP(t, filepath.Join(dir, "http.js"), reportFile),
	}
}

// k6OverHTTP makes one request at a time with each virtual user.
func k6OverHTTP(t tools, script, reportFile string) generator {
	load := func(calls int, s shape, request ...string) command {
		return command{
			args:   []string{t.k6, "run", "--quiet", "--no-usage-report", "--summary-trend-stats", "p(50),p(90),p(99)", "--summary-export", reportFile, script},
			env:    append(request, fmt.Sprintf(`OPTIONS={"vus":%d,"iterations":%d}`, s.Connections, s.Connections), fmt.Sprintf("CALLS=%d", calls/s.Connections)),
			report: reportFile,
		}
	}
	return generator{
		Name: "k6", Plain: true, Version: t.k6At, Calls: [2]int{20_000, 20_000}, read: readK6,
		Note: "one virtual user for each connection",
		run: func(addr string, calls int, s shape) command {
			return load(calls, s, "METHOD=GET", "URL=http://"+addr+"/", "BODY=")
		},
		agree: func(addr string, calls int, s shape) command {
			return load(calls, s, "METHOD=POST", "URL=http://"+addr+"/greet", "BODY="+greeting)
		},
	}
}

// greeting is what a call of the REST server sends. A server delays only greetings and orders.
const greeting = `{"name":"rpclab"}`

const wrkScript = `
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '` + greeting + `'
`

// k6HTTPScript makes CALLS requests with each virtual user.
const k6HTTPScript = `
import http from 'k6/http';
import { Counter } from 'k6/metrics';

export const options = JSON.parse(__ENV.OPTIONS);
const calls = Number(__ENV.CALLS);
const answered = new Counter('answered');

export default function () {
  for (let i = 0; i < calls; i++) {
    const answer = http.request(__ENV.METHOD, __ENV.URL, __ENV.BODY || null, { headers: { 'Content-Type': 'application/json' } });
    if (answer.status !== 200) throw new Error('status ' + answer.status);
  }
  answered.add(calls); // once, so that counting costs next to nothing
}
`

var (
	wrkCount = regexp.MustCompile(`(\d+) requests in `)
	// With --latency wrk prints some percentiles.
	wrkPercentile = regexp.MustCompile(`(?m)^\s+(\d+)%\s+(\S+)$`)
	wrkFailed     = regexp.MustCompile(`Socket errors:.*|Non-2xx or 3xx responses:.*`)
)

// readWrk reads the number of answers, and percentiles if there are any. wrk reports failures only when there are some.
func readWrk(r report) (got outcome, err error) {
	if failed := wrkFailed.Find(r.stdout); failed != nil {
		return got, fmt.Errorf("wrk saw failures: %s", failed)
	}
	count := wrkCount.FindSubmatch(r.stdout)
	if count == nil {
		return got, fmt.Errorf("the output of wrk has no number of requests: %.200s", r.stdout)
	}
	if got.answered, err = strconv.Atoi(string(count[1])); err != nil {
		return got, err
	}
	for _, line := range wrkPercentile.FindAllSubmatch(r.stdout, -1) {
		latency, err := time.ParseDuration(string(line[2]))
		if err != nil {
			return got, fmt.Errorf("the output of wrk has the latency %q", strings.TrimSpace(string(line[0])))
		}
		switch string(line[1]) {
		case "50":
			got.p50 = latency
		case "90":
			got.p90 = latency
		case "99":
			got.p99 = latency
		}
	}
	return got, nil
}

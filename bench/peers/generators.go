package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// generators are the generators of the benchmark, in the order of the page.
func generators(t tools, dir string) ([]generator, error) {
	// A HelloRequest of "rpclab" with gRPC's prefix, for h2load, which sends a body of bytes.
	body, script := filepath.Join(dir, "body"), filepath.Join(dir, "greeter.js")
	for name, text := range map[string]string{
		body: "\x00\x00\x00\x00\x08\x0a\x06rpclab", script: k6Script,
		filepath.Join(dir, "http.js"): k6HTTPScript, filepath.Join(dir, "post.lua"): wrkScript, filepath.Join(dir, "greeting.json"): greeting,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	api, err := filepath.Abs("api")
	if err != nil {
		return nil, err
	}
	report := filepath.Join(dir, "report")
	return append([]generator{
		rpclabLoad(t, api, report), wirebench(t), h2load(t, body, report), fortio(t, report), k6(t, script, api, report), ghz(t, api),
	}, plainGenerators(t, dir, report)...), nil
}

func rpclabLoad(t tools, api, reportFile string) generator {
	load := []string{t.rpclab, "load", "--import-path", api, "--proto", filepath.Join(api, "rpclab/v1/greeter.proto"), "--call", method,
		"-d", `{"name":"rpclab"}`, "--json", reportFile, "--no-store"}
	run := func(addr string, calls int, s shape) command {
		return command{report: reportFile, args: append(load, "--calls", strconv.Itoa(calls), "--concurrency", strconv.Itoa(s.Connections*s.Streams),
			"--connections", strconv.Itoa(s.Connections), addr)}
	}
	return generator{
		Name: ours, Version: "this tree", Calls: [2]int{600_000, 200_000}, read: readRpclab,
		Note: "one thread, which in a closed loop without think time lets other programs run first (SCHED_BATCH, `wire.Config.Yield`) and so finds more answers at a time. At the end of each run it measures its own ceiling and floor, which is most of its start-up. Most of its peak memory are pages of its program file, which contains the libraries of every route. The CPU time of the self-test varies by as much as its calls cost, so their CPU time is what rpclab reports: the kernel's count before and after them",
		run:  run, agree: run,
		rate: func(addr string, perSecond int, d time.Duration) command {
			return command{report: reportFile, args: append(load, "--rate", strconv.Itoa(perSecond), "--duration", d.String(), "--connections", "10", addr)}
		},
	}
}

func wirebench(t tools) generator {
	return generator{
		Name: "rpclab's engine alone", Version: "this tree", Calls: [2]int{600_000, 200_000}, read: readWirebench,
		Note: "`internal/wire` alone (`bench/wirebench`), one thread that does not yield, as `rpclab load` in an open loop; it checks the message of every answer",
		run: func(addr string, calls int, s shape) command {
			return command{args: []string{t.wirebench, "-calls", strconv.Itoa(calls), "-users", strconv.Itoa(s.Connections * s.Streams),
				"-connections", strconv.Itoa(s.Connections), addr}}
		},
		rate: func(addr string, perSecond int, d time.Duration) command {
			return command{args: []string{t.wirebench, "-rate", strconv.Itoa(perSecond), "-duration", d.String(), "-connections", "10", addr}}
		},
	}
}

func h2load(t tools, body, reportFile string) generator {
	request := []string{"-t", "1", "-d", body, "-H", "te: trailers", "-H", "content-type: application/grpc"}
	url := func(addr string) string { return "http://" + addr + "/" + method }
	run := func(addr string, calls int, s shape, more ...string) command {
		args := append([]string{t.h2load, "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections), "-m", strconv.Itoa(s.Streams)}, request...)
		return command{args: append(append(args, more...), url(addr))}
	}
	return generator{
		Name: "h2load", Version: t.h2loadAt, Calls: [2]int{600_000, 200_000}, read: readH2load,
		Note: "one thread; it checks only the HTTP status and prints no percentiles: its p99 is from its log of every request",
		run:  func(addr string, calls int, s shape) command { return run(addr, calls, s) },
		agree: func(addr string, calls int, s shape) command {
			logged := run(addr, calls, s, "--log-file", reportFile)
			logged.report = reportFile
			return logged
		},
		rate: func(addr string, perSecond int, d time.Duration) command {
			args := append([]string{t.h2load, "-c", "10", "-m", "5", "--rps", strconv.Itoa(perSecond / 10), "-D", seconds(d), "--log-file", reportFile}, request...)
			return command{args: append(args, url(addr)), report: reportFile}
		},
	}
}

func fortio(t tools, reportFile string) generator {
	load := []string{t.fortio, "load", "-grpc", "-health", "-json", reportFile, "-p", "90,99"}
	return generator{
		Name: "fortio", Version: t.fortioAt, Calls: [2]int{60_000, 40_000}, Health: true, read: readFortio,
		Note: "calls `grpc.health.v1.Health/Check`, because it calls no other method: smaller messages, the same servers",
		run: func(addr string, calls int, s shape) command {
			return command{report: reportFile, args: append(load, "-qps", "0", "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections), "-s", strconv.Itoa(s.Streams), addr)}
		},
		rate: func(addr string, perSecond int, d time.Duration) command {
			return command{report: reportFile, args: append(load, "-qps", strconv.Itoa(perSecond), "-t", d.String(), "-c", "10", "-s", "5", addr)}
		},
	}
}

func k6(t tools, script, api, reportFile string) generator {
	load := func(addr, options string, streams, calls int) command {
		return command{
			args: []string{t.k6, "run", "--quiet", "--no-usage-report", "--summary-trend-stats", "p(50),p(90),p(99)", "--summary-export", reportFile, script},
			env: []string{"ADDRESS=" + addr, "IMPORTS=" + api, "OPTIONS=" + options,
				fmt.Sprintf("STREAMS=%d", streams), fmt.Sprintf("CALLS=%d", calls)},
			report: reportFile,
		}
	}
	run := func(addr string, calls int, s shape) command {
		return load(addr, fmt.Sprintf(`{"vus":%d,"iterations":%d}`, s.Connections, s.Connections), s.Streams, calls/s.Connections/s.Streams)
	}
	return generator{
		Name: "k6", Version: t.k6At, Calls: [2]int{20_000, 20_000}, read: readK6,
		Note: "one virtual user for each connection, with concurrent calls by `asyncInvoke`",
		run:  run, agree: run,
		rate: func(addr string, perSecond int, d time.Duration) command {
			return load(addr, fmt.Sprintf(`{"scenarios":{"open":{"executor":"constant-arrival-rate","rate":%d,"timeUnit":"1s","duration":%q,"preAllocatedVUs":50,"maxVUs":1500}}}`,
				perSecond, seconds(d)+"s"), 1, 1)
		},
	}
}

func ghz(t tools, api string) generator {
	load := []string{t.ghz, "--insecure", "--proto", filepath.Join(api, "rpclab/v1/greeter.proto"), "--call", method,
		"-d", `{"name":"rpclab"}`, "-O", "json"}
	run := func(addr string, calls int, s shape) command {
		return command{args: append(load, "-n", strconv.Itoa(calls), "-c", strconv.Itoa(s.Connections*s.Streams), "--connections", strconv.Itoa(s.Connections), addr)}
	}
	return generator{
		Name: "ghz", Version: t.ghzAt, Calls: [2]int{20_000, 20_000}, read: readGhz,
		run: run, agree: run,
		rate: func(addr string, perSecond int, d time.Duration) command {
			return command{args: append(load, "--rps", strconv.Itoa(perSecond), "-z", d.String(), "-c", "50", "--connections", "10", addr)}
		},
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// k6Script keeps STREAMS calls in flight on the connection of each virtual user.
const k6Script = `
import grpc from 'k6/net/grpc';
import { Counter } from 'k6/metrics';

export const options = JSON.parse(__ENV.OPTIONS);
const streams = Number(__ENV.STREAMS), calls = Number(__ENV.CALLS);
const answered = new Counter('answered');
const client = new grpc.Client();
client.load([__ENV.IMPORTS], 'rpclab/v1/greeter.proto');
let connected = false;

async function chain() {
  for (let i = 0; i < calls; i++) {
    const answer = await client.asyncInvoke('rpclab.v1.Greeter/SayHello', { name: 'rpclab' });
    if (answer.status !== grpc.StatusOK) throw new Error('status ' + answer.status);
  }
  answered.add(calls); // once a chain, so that counting costs next to nothing
}

export default async function () {
  if (!connected) {
    client.connect(__ENV.ADDRESS, { plaintext: true });
    connected = true;
  }
  await Promise.all(Array.from({ length: streams }, chain));
}
`

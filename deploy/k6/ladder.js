// The load of the published ladder study: users place an order, wait a second and place the next.
//
//   k6 run -e USERS=1000 ladder.js
//   k6 run -e USERS=1000 -e PROTOCOL=grpc ladder.js
//
// PUBLISHED=1 repeats two mistakes of the study: its orders had no articles, and a user of gRPC connected and closed the
// connection for every call.
import { check, sleep } from 'k6';
import http from 'k6/http';
import grpc from 'k6/net/grpc';

const published = __ENV.PUBLISHED === '1';
const overGRPC = __ENV.PROTOCOL === 'grpc';
const users = Number(__ENV.USERS || 1000);
const target = __ENV.TARGET || (overGRPC ? '127.0.0.1:9090' : '127.0.0.1:8080');

export const options = {
  stages: [
    { duration: '10s', target: users },
    { duration: '50s', target: users },
    { duration: '1s', target: 0 },
  ],
};

const articles = [];
for (let i = 0; i < (published ? 0 : 1000); i++) {
  articles.push({ id: `${i}`, quantity: 1, unit_price: 10.5 });
}
const order = { articles };
const body = JSON.stringify(order);

const client = overGRPC ? new grpc.Client() : null;
if (client) {
  client.load([], 'order.proto');
}
let connected = false; // each user has a copy of this variable

export default function () {
  if (overGRPC) {
    if (!connected) {
      client.connect(target, { plaintext: true });
      connected = true;
    }
    const response = client.invoke('rpclab.v1.OrderService/PlaceOrder', order);
    check(response, { 'status is OK': (r) => r && r.status === grpc.StatusOK });
    if (published) {
      client.close();
      connected = false;
    }
  } else {
    const response = http.post(`http://${target}/orders`, body, { headers: { 'Content-Type': 'application/json' } });
    check(response, { 'status is 200': (r) => r.status === 200 });
  }
  sleep(1);
}

// The row of the study's table: latencies in ms, then the number of requests and the rate.
export function handleSummary(data) {
  const took = data.metrics[overGRPC ? 'grpc_req_duration' : 'http_req_duration'].values;
  const made = data.metrics[overGRPC ? 'iterations' : 'http_reqs'].values;
  const figures = [took.avg, took.min, took.med, took.max, took['p(90)'], took['p(95)']].map((ms) => ms.toFixed(1));
  const row = [users, overGRPC ? 'gRPC' : 'REST', ...figures, made.count, made.rate.toFixed(1)];
  return {
    stdout: `| users | type | avg | min | med | max | p90 | p95 | requests | requests/s |\n| ${row.join(' | ')} |\n`,
  };
}

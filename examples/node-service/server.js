// Serves orders.proto and GET /orders?customer=N on one port: node server.js HOST:PORT
"use strict";
const http = require("http"), net = require("net"), path = require("path");
const grpc = require("@grpc/grpc-js"), loader = require("@grpc/proto-loader");

const { orders } = grpc.loadPackageDefinition(loader.loadSync(path.join(__dirname, "orders.proto"), { keepCase: true }));
const order = (customer, n) => ({ id: `${customer}-${n}`, customer_id: customer, total: 9.5 * n });
const ordersOf = (customer) => Array.from({ length: 20 }, (_, n) => order(customer, n));

const server = new grpc.Server();
server.addService(orders.v1.Orders.service, {
  Get: (call, answer) => answer(null, { orders: ordersOf(call.request.customer_id) }),
  Watch: (call) => {
    let n = 0;
    const timer = setInterval(() => call.write(order(call.request.customer_id, n++)), 100);
    call.on("cancelled", () => clearInterval(timer));
  },
});
const calls = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
const requests = http.createServer((request, response) => {
  const url = new URL(request.url, "http://orders");
  if (url.pathname !== "/orders") return response.writeHead(404).end();
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ orders: ordersOf(Number(url.searchParams.get("customer"))) }));
});
const listener = net.createServer((socket) => socket.on("error", () => socket.destroy()).once("data", (first) => {
  socket.pause().unshift(first); // HTTP/2 begins with PRI
  if (first.toString("latin1").startsWith("PRI")) calls.injectConnection(socket);
  else requests.emit("connection", socket.resume());
}));
const { hostname, port } = new URL(`http://${process.argv[2]}`);
listener.listen(Number(port), hostname, () => console.log(`orders listen at ${process.argv[2]}`));
process.on("SIGTERM", () => { listener.close(); server.tryShutdown(() => process.exit()); });

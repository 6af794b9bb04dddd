// Serves testdata/streams.proto with grpc-js on the address of its argument.
"use strict";
const grpc = require("@grpc/grpc-js");

const counts = {};
const count = (method) => { counts[method] = (counts[method] ?? 0) + 1; };
const bytes = (message) => message; // messages stay encoded
const note = (name) => Buffer.concat([Buffer.from([0x0a, Buffer.byteLength(name)]), Buffer.from(name)]);

const method = (name, requestStream, responseStream) => ({
  path: `/test.Streams/${name}`, requestStream, responseStream,
  requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes,
});

const server = new grpc.Server();
server.addService({
  Once: method("Once", false, false),
  Calls: method("Calls", false, false),
  Repeat: method("Repeat", false, true),
  Join: method("Join", true, false),
  Echo: method("Echo", true, true),
}, {
  Once(call, answer) { count("Once"); answer(null, call.request); },
  Calls(call, answer) {
    answer(null, note(Object.keys(counts).sort().map((name) => `${name}=${counts[name]}`).join(" ")));
  },
  Repeat(call) {
    count("Repeat");
    for (let i = 0; i < 3; i++) call.write(call.request);
    call.end();
  },
  Join(call, answer) {
    count("Join");
    let n = 0;
    call.on("data", () => { n++; });
    call.on("end", () => answer(null, note(String(n))));
  },
  Echo(call) {
    count("Echo");
    call.on("data", (message) => call.write(message));
    call.on("end", () => call.end());
  },
});
server.bindAsync(process.argv[2], grpc.ServerCredentials.createInsecure(), (error) => { if (error) throw error; });

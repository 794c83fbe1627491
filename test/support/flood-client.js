// A client as light as can be, in a process of its own: what is measured is the server. Speaks gRPC over node:http2 by hand.
// argv: socket path, number of GetStatus calls, number of connections for them. Prints one line of JSON.
'use strict';
const http2 = require('node:http2');

const [socketPath, calls, connections, method = '/cpusetd.v1.CpuManager/GetStatus'] = process.argv.slice(2);
const EMPTY = Buffer.from([0, 0, 0, 0, 0]);

function connect() {
  return new Promise((resolve, reject) => {
    const session = http2.connect('http://localhost', { path: socketPath, settings: { initialWindowSize: 4 << 20 } });
    session.once('remoteSettings', () => {
      session.setLocalWindowSize(64 << 20);
      resolve(session);
    });
    session.once('error', reject);
  });
}

/** gRPC's status, and how many bytes were answered. */
function call(session, path) {
  return new Promise((resolve) => {
    let status;
    let bytes = 0;
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const note = (headers) => (status = headers['grpc-status'] ?? status);
    stream.on('response', note).on('trailers', note);
    stream.on('data', (chunk) => (bytes += chunk.length));
    stream.on('error', () => undefined);
    stream.on('close', () => resolve({ status: status ?? `rst ${stream.rstCode}`, bytes }));
    stream.end(EMPTY);
  });
}

async function main() {
  const health = await connect();
  const sessions = await Promise.all(Array.from({ length: Number(connections) }, () => connect()));
  await call(health, '/grpc.health.v1.Health/Check');
  const startMs = performance.now();
  let open = Number(calls);
  const statuses = {};
  let bytes = 0;
  const flood = Array.from({ length: open }, async (_, i) => {
    const answer = await call(sessions[i % sessions.length], method);
    open -= 1;
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    bytes += answer.bytes;
  });
  const waits = [];
  while (open > 0) {
    const askedMs = performance.now();
    const { status } = await call(health, '/grpc.health.v1.Health/Check');
    if (status !== '0') throw new Error(`health answered ${status}`);
    waits.push(performance.now() - askedMs);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(flood);
  const tookMs = performance.now() - startMs;
  waits.sort((a, b) => a - b);
  const at = (share) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))];
  console.log(
    JSON.stringify({
      statuses,
      bytes,
      tookMs,
      health: { asked: waits.length, p50: at(0.5), p99: at(0.99), max: waits.at(-1) },
    }),
  );
  for (const session of [health, ...sessions]) session.destroy();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

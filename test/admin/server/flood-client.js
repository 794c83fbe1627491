// gRPC clients over node:http2, in processes of their own, that cost little beside the server under test:
// flood SOCKET PATH CALLS CONNECTIONS  makes all calls at once; prints their results
// probe SOCKET PATH                    makes one call after the other until standard input ends; prints their durations in ms
'use strict';
const http2 = require('node:http2');

/** @typedef {import('node:http2').ClientHttp2Session} Session */

const [mode, socketPath = '', path = '', calls, connections] = process.argv.slice(2);
const EMPTY = Buffer.from([0, 0, 0, 0, 0]);

/** @returns {Promise<Session>} */
function connect() {
  return new Promise((resolve, reject) => {
    const session = http2.connect('http://localhost', { path: socketPath, settings: { initialWindowSize: 4 << 20 } });
    session.once('error', reject);
    session.once('remoteSettings', () => {
      session.setLocalWindowSize(64 << 20);
      resolve(session);
    });
  });
}

/**
 * Makes a call.
 * @param {Session} session
 * @returns {Promise<{ status: string, bytes: number }>} gRPC's status, and the size of the answer
 */
function call(session) {
  return new Promise((resolve) => {
    /** @type {string | undefined} */
    let status;
    let bytes = 0;
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request(headers);
    /** @param {import('node:http2').IncomingHttpHeaders} headers */
    const note = ({ 'grpc-status': received }) => (status = received?.toString() ?? status);
    stream.on('response', note).on('trailers', note);
    stream.on('data', (/** @type {Buffer} */ chunk) => (bytes += chunk.length));
    stream.on('error', () => undefined);
    stream.on('close', () => resolve({ status: status ?? `reset ${stream.rstCode}`, bytes }));
    stream.end(EMPTY);
  });
}

async function flood() {
  const sessions = await Promise.all(Array.from({ length: Number(connections) }, () => connect()));
  console.log('connected');
  const startMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: Number(calls) }, (_, i) => call(/** @type {Session} */ (sessions[i % sessions.length]))),
  );
  /** @type {Record<string, number>} */
  const statuses = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  const bytes = answers.reduce((sum, answer) => sum + answer.bytes, 0);
  console.log(JSON.stringify({ statuses, bytes, tookMs: performance.now() - startMs }));
  for (const session of sessions) session.destroy();
}

async function probe() {
  const session = await connect();
  let ended = false;
  process.stdin.on('end', () => (ended = true)).resume();
  /** @type {number[]} */
  const waits = [];
  /** @type {Record<string, number>} */
  const statuses = {};
  await call(session);
  console.log('connected');
  while (!ended) {
    const askedMs = performance.now();
    const { status } = await call(session);
    waits.push(performance.now() - askedMs);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  waits.sort((a, b) => a - b);
  /** @param {number} share */
  const at = (share) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))];
  console.log(JSON.stringify({ statuses, asked: waits.length, p50: at(0.5), p99: at(0.99), max: waits.at(-1) }));
  session.destroy();
}

(mode === 'flood' ? flood() : probe()).catch((/** @type {unknown} */ error) => {
  console.error(error);
  process.exit(1);
});

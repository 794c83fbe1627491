// A service that answers a request every 5 ms with the same amount of work. Each second it prints one JSON line: the
// median and the 99th percentile of the time from a request to the end of its work, in ms, and the number of requests.
import { createHash } from 'node:crypto';

const PERIOD_MS = 5;
const PRINT_MS = 1000;
const payload = Buffer.alloc(2 * 1024 * 1024, 7);
const sleeper = new Int32Array(new SharedArrayBuffer(4));

let dueMs = performance.now();
let printMs = dueMs + PRINT_MS;
let latencies = [];
for (;;) {
  const waitMs = dueMs - performance.now();
  if (waitMs > 0) Atomics.wait(sleeper, 0, 0, waitMs);
  // A request of the past is answered now; those that nobody could answer in time are not made up for.
  const requestedMs = Math.max(dueMs, performance.now() - PRINT_MS);
  createHash('sha256').update(payload).digest();
  const nowMs = performance.now();
  latencies.push(nowMs - requestedMs);
  dueMs = Math.max(requestedMs + PERIOD_MS, nowMs - PERIOD_MS);
  if (nowMs < printMs) continue;
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  console.log(JSON.stringify({ medianMs: at(0.5), p99Ms: at(0.99), requests: sorted.length }));
  latencies = [];
  printMs = nowMs + PRINT_MS;
}

import fc from 'fast-check';
import { CpusetdError } from '../../src/core/errors';
import { EVENT_METHODS, readEvent, readSynchronize } from '../../src/nri-events/read-event';
import { collectGarbage } from '../support/collect-garbage';
import { encodeEventRequest, encodeStateChange, Event } from './build-request';

const SEED = 20261121;
const RUNS = 20_000;
/** A message of a few hundred bytes takes microseconds. */
const MAX_MS = 500;
/**
 * Maximum memory that all messages together may leave behind: far less than their bytes, and than the length that one
 * announces.
 */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

const pod = { id: 'sandbox', uid: 'uid', name: 'pod', namespace: 'ns', annotations: { a: 'b' }, labels: { c: 'd' } };
const container = {
  id: 'container',
  podSandboxId: 'sandbox',
  name: 'app',
  linux: { cgroupsPath: '/kubepods/poduid/container', resources: { cpu: { cpus: '0-3' } } },
};
const good = [
  encodeEventRequest({ pod, container }),
  encodeStateChange({ event: Event.POST_START_CONTAINER, pod, container }),
  new Uint8Array(),
];

/** A valid message with bytes changed, removed and inserted; or random bytes. */
const anyPayload = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...good),
        fc.array(
          fc.record({
            at: fc.double({ min: 0, max: 1, noNaN: true }),
            drop: fc.nat(6),
            insert: fc.oneof(
              fc.uint8Array({ maxLength: 6 }),
              // Lengths and numbers that are too large.
              fc.constantFrom(
                Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f),
                Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
                Uint8Array.of(0x0b, 0x0b, 0x0b, 0x0b),
              ),
            ),
          }),
          { minLength: 1, maxLength: 4 },
        ),
      )
      .map(([bytes, edits]) =>
        edits.reduce((now, { at, drop, insert }) => {
          const index = Math.floor(at * now.length);
          return Uint8Array.from([...now.slice(0, index), ...insert, ...now.slice(index + drop)]);
        }, bytes),
      ),
  },
  fc.uint8Array({ maxLength: 200 }),
);

/** Runs it, and fails for any result that is neither an answer nor a refusal. */
function expectAnswerOrRefusal(read: () => unknown): void {
  // The first run may have garbage of others to collect: a slow run is repeated up to two times.
  let ms = timeMs(read);
  for (let again = 0; again < 2 && ms > MAX_MS; again++) ms = Math.min(ms, timeMs(read));
  if (ms > MAX_MS) throw new Error(`took ${ms} ms`);
}

/** Milliseconds of CPU time. */
function timeMs(read: () => unknown): number {
  const start = process.cpuUsage();
  try {
    read();
  } catch (error) {
    if (!(error instanceof CpusetdError) || error.code !== 'INVALID_ARGUMENT') throw error;
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

test('given any bytes, then they are an event, ignored, or refused, in bounded time and memory', () => {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  fc.assert(
    fc.property(fc.constantFrom(...EVENT_METHODS), anyPayload, (method, payload) =>
      expectAnswerOrRefusal(() => readEvent(method, payload)),
    ),
    { seed: SEED, numRuns: RUNS },
  );
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(MAX_KEPT_BYTES);
});

test('given any bytes, then they are a piece of Synchronize, or refused', () => {
  fc.assert(
    fc.property(anyPayload, (payload) => expectAnswerOrRefusal(() => readSynchronize(payload))),
    { seed: SEED, numRuns: RUNS },
  );
});

test('the longest announced length allocates nothing', () => {
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1_000; i++)
    expectAnswerOrRefusal(() => readEvent('CreateContainer', Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MAX_KEPT_BYTES);
});

test('deeply nested groups are refused', () => {
  expectAnswerOrRefusal(() => readEvent('CreateContainer', new Uint8Array(1_000_000).fill(0x0b)));
  expectAnswerOrRefusal(() => readSynchronize(new Uint8Array(1_000_000).fill(0x7b)));
});

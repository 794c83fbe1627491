import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { explainConnectError, waitForRetry } from '../../src/nri/reconnect';

describe('the reason why the socket can not be reached', () => {
  test.each`
    code         | message
    ${'EACCES'}  | ${/permission denied at \/run\/x\.sock.*root/}
    ${'EPERM'}   | ${/permission denied at \/run\/x\.sock.*root/}
    ${'ENOENT'}  | ${/no socket at \/run\/x\.sock.*enable it.*--nri-socket/}
    ${'ENOTDIR'} | ${/no socket at \/run\/x\.sock.*enable it.*--nri-socket/}
    ${'EMFILE'}  | ${/connecting to \/run\/x\.sock failed: connect EMFILE/}
  `('$code names path, rule and remedy', ({ code, message }) => {
    const error = Object.assign(new Error(`connect ${String(code)}`), { code: code as string });
    expect(explainConnectError(error, '/run/x.sock', '--nri-socket')).toMatch(message);
  });
});

describe('the wait for the next attempt', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'retry-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A wait that ends early takes less than this, also on a busy machine. */
  const LONG_MS = 60_000;

  /** Waits in the folder for at most delayMs; resolves with the time it took. */
  async function measure(
    delayMs: number,
    during: () => void,
    signal = new AbortController().signal,
    path = 'nri.sock',
  ) {
    const startMs = performance.now();
    const waiting = waitForRetry({ socketPath: join(folder, path), delayMs, signal });
    during();
    await waiting;
    return performance.now() - startMs;
  }

  test('ends early when the socket is created', async () => {
    expect(await measure(LONG_MS, () => writeFileSync(join(folder, 'nri.sock'), ''))).toBeLessThan(LONG_MS / 2);
  });

  test('lasts when another file in the directory changes', async () => {
    expect(await measure(150, () => writeFileSync(join(folder, 'other.sock'), ''))).toBeGreaterThan(140);
  });

  test('lasts when there is no directory to watch', async () => {
    expect(await measure(60, () => undefined, undefined, 'missing/nri.sock')).toBeGreaterThan(50);
  });

  test('goes on when the directory is removed', async () => {
    expect(await measure(100, () => rmSync(folder, { recursive: true }))).toBeLessThan(LONG_MS / 2);
  });

  test('ends early when the socket is touched again and again', async () => {
    const timer = setInterval(() => writeFileSync(join(folder, 'nri.sock'), ''), 2);
    expect(await measure(LONG_MS, () => undefined)).toBeLessThan(LONG_MS / 2);
    clearInterval(timer);
  });

  test('ends at once when the signal aborts', async () => {
    const stopping = new AbortController();
    expect(await measure(LONG_MS, () => stopping.abort(), stopping.signal)).toBeLessThan(LONG_MS / 2);
    expect(await measure(LONG_MS, () => undefined, stopping.signal)).toBeLessThan(LONG_MS / 2);
  });
});

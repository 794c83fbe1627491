import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UpstreamMonitor } from '../../../src/cri/proxy';
import {} from './harness';
import { waitUntil } from '../../support/wait-until';

let folder: string;
let path: string;
let server: Server | undefined;
let monitor: UpstreamMonitor;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'upstream-'));
  path = join(folder, 'r');
  monitor = new UpstreamMonitor(path);
});
afterEach(() => {
  monitor.close();
  server?.close();
  rmSync(folder, { recursive: true });
});

test('every subscriber gets the first finding and each change once, however often they are reported', async () => {
  const seen: [string, boolean][] = [];
  for (const name of ['a', 'b']) monitor.subscribe((isUp) => seen.push([name, isUp]));
  expect(monitor.isUp).toBeUndefined();
  for (let times = 0; times < 3; times++) monitor.reportUp();
  for (let times = 0; times < 3; times++) monitor.reportGone();
  expect(monitor.isUp).toBe(false);
  server = createServer().listen(path);
  await waitUntil(() => monitor.isUp === true);
  expect(seen).toEqual(
    [true, false, true].flatMap(
      (isUp) =>
        [
          ['a', isUp],
          ['b', isUp],
        ] as [string, boolean][],
    ),
  );
});

test('pauses between attempts grow from 100 ms to three seconds, and begin anew after a success', async () => {
  const delaysMs: number[] = [];
  const timers = jest.spyOn(global, 'setTimeout').mockImplementation((run, delayMs) => {
    delaysMs.push(delayMs!);
    setImmediate(run);
    return {} as NodeJS.Timeout;
  });
  const turns = async (count: number): Promise<void> => {
    while (delaysMs.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  try {
    monitor.reportGone();
    await turns(10);
    expect(delaysMs.slice(0, 10)).toEqual([100, 160, 256, 410, 655, 1049, 1678, 2684, 3000, 3000]);
    monitor.reportUp();
    const before = delaysMs.length;
    monitor.reportGone();
    await turns(before + 1);
    expect(delaysMs.slice(before)).toContain(100);
  } finally {
    monitor.close();
    timers.mockRestore();
  }
});

test('a closed monitor reports nothing and tries no connection', () => {
  const seen: boolean[] = [];
  monitor.subscribe((isUp) => seen.push(isUp));
  const [started, stopped] = [jest.spyOn(global, 'setTimeout'), jest.spyOn(global, 'clearTimeout')];
  try {
    monitor.reportGone();
    expect(started).toHaveBeenCalledTimes(1);
    monitor.close();
    expect(stopped).toHaveBeenCalledWith(started.mock.results[0]!.value);
    monitor.reportUp();
    monitor.reportGone();
    expect(started).toHaveBeenCalledTimes(1);
    expect(seen).toEqual([false]);
  } finally {
    started.mockRestore();
    stopped.mockRestore();
  }
});

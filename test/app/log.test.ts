import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';

import { openLog } from '../../src/app/log';
import { parseCpuList } from '../../src/core/cpuset';
import { createRandom } from '../support/random';
import { randomText, unsafeIn } from '../support/unsafe-text';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'log-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes to a log, and returns its lines. */
async function logged(logFormat: 'json' | 'pretty', write: (log: Logger) => void): Promise<string[]> {
  const path = join(folder, 'log');
  const fd = openSync(path, 'w');
  try {
    write(await openLog({ logLevel: 'debug', logFormat, fd }));
    return readFileSync(path, 'utf8').trimEnd().split('\n');
  } finally {
    closeSync(fd);
  }
}

/** The maximum length of a line. A line has few fields. */
const LONGEST_LINE = 16_384;
/** The colours of pino-pretty itself. */
const COLOURS = /\u001b\[\d+m/g;

describe.each(['json', 'pretty'] as const)('the format %s', (format) => {
  test('random texts in every field: no control or bidi character gets into the log, and no line is too long', async () => {
    const random = createRandom(3);
    const lines = await logged(format, (log) => {
      for (let i = 0; i < 200; i++) {
        const text = randomText(random, random.int(0, 300));
        const err = new Error(text, { cause: new Error(text) });
        log.child({ pod: text }).warn({ reason: text, names: [text], nested: { [text]: text }, err }, 'not connected');
        log.error(err);
        log.info(text);
      }
    });
    expect(lines.length).toBeGreaterThanOrEqual(600);
    expect(
      lines
        .map((line) => unsafeIn(line.replace(COLOURS, '')))
        .filter(Boolean)
        .slice(0, 3),
    ).toEqual([]);
  });

  test('a text of 1 MiB in every field: a line of bounded length', async () => {
    const text = 'x'.repeat(2 ** 20);
    const lines = await logged(format, (log) => {
      log.warn({ reason: text, err: new Error(text), list: Array(5_000).fill('y') }, 'not connected');
    });
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(LONGEST_LINE);
    expect(lines.length).toBeLessThan(500);
  });

  test('a field with line breaks can’t look like a line of its own', async () => {
    const reason = 'gone\n{"level":"info","msg":"all is well"}\n[10:00:00.000] INFO: all is well';
    const lines = await logged(format, (log) => log.warn({ reason }, 'not connected'));
    expect(lines.filter((line) => /^(\{"level":"info"|\[10:00:00)/.test(line))).toEqual([]);
  });
});

describe.each(['json', 'pretty'] as const)('a log pipe without a reader, in the format %s', (format) => {
  let pipe: number;
  beforeEach(() => {
    const path = join(folder, `pipe-${format}`);
    execFileSync('mkfifo', [path]);
    pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  });
  afterEach(() => {
    jest.useRealTimers();
    closeSync(pipe);
  });
  const readAll = (): string => {
    const [chunk, texts] = [Buffer.alloc(65_536), [] as string[]];
    try {
      for (;;) texts.push(chunk.toString('utf8', 0, readSync(pipe, chunk)));
    } catch (error) {
      expect(error).toHaveProperty('code', 'EAGAIN');
      return texts.join('');
    }
  };
  /** Reads while time passes, until nothing more comes. */
  const readOn = async (): Promise<string> => {
    let all = '';
    for (let more = readAll(); more !== ''; more = readAll()) {
      all += more;
      jest.advanceTimersByTime(1_000);
      await new Promise(setImmediate);
    }
    return all;
  };

  test('logging does not block, keeps a bounded number of lines, writes them when a reader comes, and counts the dropped ones', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    const log = await openLog({ logLevel: 'info', logFormat: format, fd: pipe });
    const lines = 3_000;
    const before = process.memoryUsage().rss;
    const startMs = performance.now();
    for (let i = 0; i < lines; i++) log.info({ text: 'x'.repeat(1_000) }, `line ${i}.`);
    // A blocking write would take a tenth of a second per line.
    expect(performance.now() - startMs).toBeLessThan((lines * 100) / 10);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
    const all = await readOn();
    const written = [...all.matchAll(/line (\d+)\./g)].map(([, i]) => Number(i));
    expect(written).toEqual(Array.from({ length: written.length }, (_, i) => i));
    expect(written.length).toBeGreaterThan(1_000);
    const [, left] = /lines"?: ?(\d+)/.exec(all) ?? [];
    expect(Number(left)).toBe(lines - written.length);
    log.info('afterwards');
    expect(readAll()).toContain('afterwards');
  });
});

test('harmless values are logged unchanged', async () => {
  const [line] = await logged('json', (log) =>
    log.info({ cpus: parseCpuList('0-3'), count: 3, on: true, none: null, list: ['a', { b: 'ü' }] }, 'pinned'),
  );
  const { time: _time, ...rest } = JSON.parse(line!) as Record<string, unknown>;
  expect(rest).toEqual({
    level: 'info',
    cpus: '0-3',
    count: 3,
    on: true,
    none: null,
    list: ['a', { b: 'ü' }],
    msg: 'pinned',
  });
});

test('an error is logged with its type, its message and the lines of its stack', async () => {
  const [line] = await logged('json', (log) => log.error({ err: new TypeError('bad') }, 'failed'));
  const { err } = JSON.parse(line!) as { err: { type: string; message: string; stack: string } };
  expect(err).toMatchObject({ type: 'TypeError', message: 'bad' });
  expect(err.stack.split('\n').length).toBeGreaterThan(2);
});

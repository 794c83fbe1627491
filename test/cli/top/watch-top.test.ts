import { PassThrough } from 'node:stream';
import type { Status } from '../../../src/admin/model/status';
import { listOwned, type Top } from '../../../src/cli/top/top';
import { watchTop, type TopWatch } from '../../../src/cli/top/watch-top';
import { CpusetdError } from '../../../src/core/errors';
import { withAdminRig, type AdminRig } from '../../admin/with-admin-server';
import { waitUntil } from '../../support/wait-until';
import { foreign, row } from './rows';

/** A terminal for keys and texts, or pipes. `rawModes` has each change of the mode. */
class FakeTerminal {
  readonly rawModes: boolean[] = [];
  readonly stdin: PassThrough & { isTTY: boolean; setRawMode(isRaw: boolean): void };
  readonly stdout: PassThrough & { isTTY: boolean; columns: number; rows: number };
  readonly stop = new AbortController();
  private text = '';

  constructor({ isTTY }: { readonly isTTY: boolean }) {
    this.stdin = Object.assign(new PassThrough(), {
      isTTY,
      setRawMode: (isRaw: boolean) => void this.rawModes.push(isRaw),
    });
    this.stdout = Object.assign(new PassThrough(), { isTTY, columns: 120, rows: 24 });
    this.stdout.on('data', (bytes: Buffer) => (this.text += bytes.toString()));
  }

  /** The text that was written since the last call. */
  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }

  get seen(): string {
    return this.text;
  }

  get context() {
    const { stdin, stdout, stop } = this;
    return { stdin, stdout, env: { NO_COLOR: '1' }, signal: stop.signal };
  }
}

/** Reads figures of two containers, without a kernel. The first reading has none. */
function fakeRead() {
  const rows = [
    row('busy', { usedPercent: 90, waitMsPerSecond: 1, foreign: foreign(2) }),
    row('idle', { usedPercent: 1, waitMsPerSecond: 9, foreign: foreign(40), verdict: 'violated' }),
  ];
  const read = jest.fn((_status: Status): Promise<Top> => {
    const isFirst = read.mock.calls.length === 1;
    return Promise.resolve({
      nodeName: 'worker-1',
      at: '2026-11-21T10:00:00Z',
      ...(!isFirst && { seconds: 2 }),
      busyMs: 0,
      containers: rows,
    });
  });
  return read;
}

function start(rig: AdminRig, terminal: FakeTerminal, options: Partial<TopWatch> = {}) {
  const read = fakeRead();
  const ended = watchTop(
    {
      adminSocket: rig.socketPath,
      read,
      intervalMs: 1,
      output: 'table',
      sort: { by: 'verdict', isReversed: false },
      ...options,
    },
    terminal.context,
  );
  return { read, ended };
}

/** The pods in the order of their lines. */
const podsIn = (text: string): readonly string[] => [...text.matchAll(/default\/(\w+)/g)].map(([, pod]) => pod!);

const KEYS = [
  ['u', ['busy', 'idle']],
  ['w', ['idle', 'busy']],
  ['n', ['busy', 'idle']],
  ['o', ['idle', 'busy']],
  ['r', ['busy', 'idle']],
  ['v', ['idle', 'busy']],
] as const;

test('on a terminal keys sort at once, without a new reading; q ends it with the terminal as it was', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: true });
    const { read, ended } = start(rig, terminal, { intervalMs: 3_600_000 });
    await waitUntil(() => terminal.seen.includes('q quit') && terminal.seen.includes('busy'));
    expect(podsIn(terminal.take())).toEqual(['idle', 'busy']);
    expect(terminal.rawModes).toEqual([true]);
    for (const [key, want] of KEYS) {
      terminal.stdin.write(key);
      await waitUntil(() => podsIn(terminal.seen).length === 2);
      expect([key, podsIn(terminal.take())]).toEqual([key, want]);
    }
    terminal.stdin.write('\u001b[A');
    terminal.stdin.write('q');
    await ended;
    expect(terminal.take()).toBe('');
    expect(read).toHaveBeenCalledTimes(1);
    expect(terminal.rawModes).toEqual([true, false]);
    expect(terminal.stdin.listenerCount('data')).toBe(0);
    expect(terminal.stdout.listenerCount('resize')).toBe(0);
  });
});

test.each([
  ['Ctrl-C', (terminal: FakeTerminal) => terminal.stdin.write('\u0003')],
  ['a signal', (terminal: FakeTerminal) => terminal.stop.abort()],
  ['the end of the terminal', (terminal: FakeTerminal) => terminal.stdin.end()],
  ['an error of the terminal', (terminal: FakeTerminal) => terminal.stdin.destroy(new Error('EIO'))],
])('%s ends it, with the terminal as it was', async (_what, end) => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: true });
    const { ended } = start(rig, terminal);
    await waitUntil(() => terminal.rawModes.length === 1);
    end(terminal);
    await ended;
    expect(terminal.rawModes).toEqual([true, false]);
  });
});

test('a reading that fails ends it with the error, and the terminal is as it was', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: true });
    const ok = fakeRead();
    const read = (status: Status) =>
      ok.mock.calls.length > 0 ? Promise.reject(new CpusetdError('INTERNAL', 'no /proc')) : ok(status);
    const { ended } = start(rig, terminal, { read });
    await expect(ended).rejects.toThrow('no /proc');
    expect(terminal.rawModes).toEqual([true, false]);
  });
});

test('a daemon that goes is told above its last figures, keys still work, and the next daemon is followed', async () => {
  await withAdminRig(async (rig) => {
    const server = await rig.start();
    const terminal = new FakeTerminal({ isTTY: true });
    const { read, ended } = start(rig, terminal);
    await waitUntil(() => terminal.rawModes.length === 1);
    await server.close();
    await waitUntil(() => terminal.seen.includes('cpusetd is away, this is its last answer'));
    terminal.take();
    terminal.stdin.write('u');
    await waitUntil(() => podsIn(terminal.seen).length === 2);
    expect(terminal.take()).not.toContain('is away'); // the line is still there
    const readings = read.mock.calls.length;
    await rig.start();
    await waitUntil(() => read.mock.calls.length > readings);
    terminal.stop.abort();
    await ended;
  });
});

test('where the output is no terminal: a table at each reading that has figures, in the order that was asked for', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: false });
    const { read, ended } = start(rig, terminal, { count: 2, sort: { by: 'used', isReversed: false } });
    await ended;
    expect(read).toHaveBeenCalledTimes(3);
    const text = terminal.take();
    expect(podsIn(text)).toEqual(['busy', 'idle', 'busy', 'idle']);
    expect(text.match(/^node worker-1/gm)).toHaveLength(2);
    expect(text).not.toContain('q quit');
    expect(text).not.toContain('\u001b');
    expect(terminal.rawModes).toEqual([]);
  });
});

test('on a terminal a number of times is obeyed too: texts below each other, and no keys', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: true });
    await start(rig, terminal, { count: 1 }).ended;
    expect(terminal.take()).toMatch(/^node worker-1[^]*kept\n$/);
    expect(terminal.rawModes).toEqual([]);
  });
});

test('json: one document; more than one: one on each line, in the order that was asked for', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const show = async (count: number): Promise<string> => {
      const terminal = new FakeTerminal({ isTTY: true });
      await start(rig, terminal, { output: 'json', count, sort: { by: 'others', isReversed: true } }).ended;
      return terminal.take();
    };
    const shown = JSON.parse(await show(1)) as { containers: { pod: string; cpus: string }[] };
    expect(shown).toMatchObject({ nodeName: 'worker-1', seconds: 2 });
    expect(shown.containers.map(({ pod, cpus }) => [pod, cpus])).toEqual([
      ['busy', '2-3'],
      ['idle', '2-3'],
    ]);
    const lines = (await show(3)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([shown, shown, shown]);
  });
});

test('the daemon tells the owners: containers with CPUs of their own, with their verdicts', async () => {
  await withAdminRig(async (rig) => {
    await rig.start();
    const terminal = new FakeTerminal({ isTTY: false });
    const { read, ended } = start(rig, terminal, { count: 1 });
    await ended;
    expect(listOwned(read.mock.calls[0]![0])).toMatchObject([
      {
        pod: 'web',
        container: 'app',
        placement: 'exclusive',
        verdict: { kind: 'violated', reason: 'CPU 3 is offline' },
      },
    ]);
  });
});

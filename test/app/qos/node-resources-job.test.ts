import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOwed, OWED } from '../../../src/app/owed-effects/owed';
import { REMOVE_MS } from '../../../src/app/qos/node-resources-job';
import { KubeError } from '../../../src/kube';
import { nodeFsOps } from '../../../src/files/fs-ops';
import { fsError, watchOps } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';
import { createRandom } from '../../support/random';
import { FakeNode, GIB, lendingNode, OPTIONS } from './support/lending-node';

const makeDir = useTempDirs();
const PERIOD_MS = 10_000;
const START_MS = 1_700_000_000_000;

beforeEach(() => {
  jest.useFakeTimers({ now: START_MS });
});
afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
/** Long enough for a write that does not wait for a collection, and far shorter than one. */
const SOON_MS = 10;
const away = (): never => {
  throw new KubeError('connection refused', 0);
};
const start = (given: Partial<Parameters<typeof lendingNode>[0]> = {}) => {
  const node = given.node ?? new FakeNode();
  const stateDir = given.stateDir ?? makeDir();
  const lending = lendingNode({ ...given, node, stateDir });
  return { ...lending, node, stateDir, running: lending.run() };
};

test('what is left is published after a collection, with its reasons in one line of the log; at the end it is removed', async () => {
  const { node, measure, job, lines, stateDir, end, running } = start({ exclusive: '8-15' });
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  // CPU: 32, less 8 reserved, less 8 exclusive, less 4 in use. Memory: 64 GiB, less 16 reserved, less 16 in use.
  expect(node.published).toEqual({ milliCpu: 12_000, memoryBytes: 32 * GIB });
  expect(job.figures).toMatchObject({
    published: node.published,
    failures: 0,
    lendable: { cpu: { milliCpu: 12_000, parts: { from: 'local', needed: 12_000 } } },
  });
  expect(lines.map(({ msg, milliCpu, cpuBecause }) => [msg, milliCpu, cpuBecause])).toEqual([
    [
      'what the node lends has changed',
      12_000,
      expect.stringMatching(/^12 CPUs can be lent: 32 allocatable, less 8 reserved/),
    ],
  ]);
  expect(isOwed(stateDir, OWED.lentResources)).toBe(true);
  end.abort();
  await running;
  expect(node.published).toEqual({});
  expect(node.writes.at(-1)?.wanted).toEqual({});
  expect(isOwed(stateDir, OWED.lentResources)).toBe(false);
});

test('only a change that matters is written: all of less, and more by more than a tenth', async () => {
  const { node, measure, end, running } = start();
  const use: number[] = [4, 4, 3, 4.5, 6.2, 6.2];
  const published: (number | undefined)[] = [];
  for (const poolCpus of use) {
    measure({ poolCpus });
    await pass(PERIOD_MS);
    published.push(node.published.milliCpu);
  }
  // 24 CPUs less the largest of the window, since a rise counts at once and 95 per cent of few samples are all of them.
  expect(published).toEqual([20_000, 20_000, 20_000, 19_000, 17_000, 17_000]);
  expect(node.writes).toHaveLength(3);
  end.abort();
  await running;
});

test('new exclusive CPUs are taken off at once, without a collection; released ones come back with the next', async () => {
  const { node, measure, commit, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS / 2);
  expect(node.published.milliCpu).toBe(20_000);
  const committedAtMs = Date.now();
  commit('8-23');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(4_000);
  expect(node.writes.at(-1)!.atMs - committedAtMs).toBeLessThanOrEqual(SOON_MS);
  commit('');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(4_000);
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('over random histories of pods and use: what is on the Node never stays above what can be lent for longer than a moment', async () => {
  const random = createRandom(7);
  const { node, measure, commit, model, job, end, running } = start();
  let mostUsed = 0;
  for (let step = 0; step < 300; step += 1) {
    if (random.chance(0.5)) {
      const poolCpus = random.int(0, 12);
      mostUsed = Math.max(mostUsed, poolCpus);
      measure({ poolCpus });
    } else {
      const first = random.int(1, 31);
      commit(random.chance(0.2) ? '' : `${first}-${random.int(first, 31)}`);
    }
    await pass(SOON_MS);
    if (mostUsed === 0) continue;
    const { milliCpu = 0 } = node.published;
    expect(milliCpu).toBeLessThanOrEqual(job.figures.lendable.cpu?.milliCpu ?? 0);
    expect(milliCpu).toBeLessThanOrEqual(1000 * model.sharedPool.size);
    await pass(random.int(0, 3_000));
  }
  end.abort();
  await running;
});

test('a write under way does not hide a decrease: it follows as soon as the write has ended', async () => {
  const { node, measure, commit, end, running } = start();
  let answer = (): void => undefined;
  node.before = (call) =>
    call === 'read'
      ? undefined
      : new Promise((resolve) => {
          answer = resolve;
        });
  measure({ poolCpus: 4 });
  await pass(3_000);
  commit('8-23');
  await pass(3_000);
  expect(node.tries).toBe(1);
  node.before = () => undefined;
  answer();
  await pass(SOON_MS);
  expect(node.writes.map(({ wanted }) => wanted.milliCpu)).toEqual([20_000, 4_000]);
  end.abort();
  await running;
});

test('while the API server is away it is tried with longer and longer pauses, and then the newest amounts are written', async () => {
  const { node, measure, commit, lines, job, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS);
  node.before = away;
  for (let round = 0; round < 30; round += 1) {
    commit(round % 2 === 0 ? '8-23' : '8-15');
    measure({ poolCpus: 5 });
    await pass(PERIOD_MS);
  }
  const { tries } = node;
  // Five minutes: seven quick tries, then one in 7.5 to 12.5 s. 60 asked for one.
  expect(tries - 1).toBeGreaterThan(20);
  expect(tries - 1).toBeLessThan(50);
  expect(job.figures.failures).toBe(tries - 1);
  expect(lines.filter(({ level }) => level === 40).map(({ because }) => because)).toEqual(['connection refused']);
  expect(node.published.milliCpu).toBe(20_000);
  commit('8-23');
  measure({ poolCpus: 5 });
  node.before = () => undefined;
  await pass(1.25 * PERIOD_MS + SOON_MS);
  expect(node.published.milliCpu).toBe(3_000);
  end.abort();
  await running;
});

test('the API server may ask for a longer pause', async () => {
  const { node, measure, end, running } = start();
  node.before = () => {
    throw new KubeError('slow down', 429, { retryAfterMs: 60_000 });
  };
  measure({ poolCpus: 4 });
  await pass(59_000);
  expect(node.tries).toBe(0);
  node.before = () => undefined;
  measure({ poolCpus: 4 });
  await pass(2_000);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('a Node that is not read again, and a read that does not end, do not keep a decrease from being written', async () => {
  const { node, measure, commit, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(60_000 + SOON_MS);
  let isRead = false;
  node.before = (call) => {
    if (call === 'write') return undefined;
    isRead = true;
    return new Promise(() => undefined);
  };
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(isRead).toBe(true);
  commit('8-23');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(4_000);
  end.abort();
  await running;
});

test('a read that began before a write does not tell what is on the Node after it', async () => {
  const { node, measure, commit, end, running } = start({ exclusive: '8-23' });
  measure({ poolCpus: 4 });
  await pass(60_000 + SOON_MS);
  // The answer has 4 CPUs, and comes after the write of 20.
  const stale = node.reading;
  let answer: (() => void) | undefined;
  node.before = (call) =>
    call === 'write'
      ? undefined
      : new Promise((resolve) => {
          answer = () => {
            node.reading = stale;
            resolve();
          };
        });
  commit('');
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(20_000);
  const { reading } = node;
  expect(answer).toBeDefined();
  answer!();
  await pass(0);
  node.reading = reading;
  commit('8-18');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(9_000);
  end.abort();
  await running;
});

test('a Node that its kubelet registers late is lent from soon after', async () => {
  const { node, measure, end, running } = start();
  node.before = (call) => {
    if (call === 'read') throw new KubeError('there is no such Node (404)', 404);
  };
  for (let round = 0; round < 30; round += 1) {
    measure({ poolCpus: 4 });
    await pass(PERIOD_MS);
  }
  expect(node.published).toEqual({});
  node.before = () => undefined;
  measure({ poolCpus: 4 });
  await pass(1.25 * PERIOD_MS + SOON_MS);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('a right that is missing is not asked for again and again', async () => {
  const { node, measure, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  node.before = (call) => {
    if (call === 'write') throw new KubeError('the API server forbids it (403)', 403);
  };
  for (let round = 0; round < 30; round += 1) {
    measure({ poolCpus: 5 + round / 10 });
    await pass(PERIOD_MS);
  }
  expect(node.tries - 1).toBeLessThanOrEqual(6);
  expect(node.tries - 1).toBeGreaterThanOrEqual(4);
  end.abort();
  await running;
});

test('use that is no longer measured lends nothing, and new measurements lend again', async () => {
  const { node, measure, lines, end, running } = start();
  for (let round = 0; round < 3; round += 1) {
    await pass(PERIOD_MS);
    measure({ poolCpus: 4 });
  }
  await pass(OPTIONS.maxAgeMs - SOON_MS);
  expect(node.published.milliCpu).toBe(20_000);
  await pass(2 * SOON_MS);
  expect(node.published).toEqual({ milliCpu: 0, memoryBytes: 0 });
  expect(lines.at(-1)?.['cpuBecause']).toMatch(/^no CPU can be lent: the use of CPUs is not known, since the newest/);
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published).toEqual({ milliCpu: 20_000, memoryBytes: 32 * GIB });
  end.abort();
  await running;
});

test('never less than pods hold is on the Node: by less that is left, new exclusive CPUs, or use that is no longer measured', async () => {
  const { node, measure, commit, hold, lines, job, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published).toEqual({ milliCpu: 20_000, memoryBytes: 32 * GIB });
  hold({ milliCpu: 3_000, memoryBytes: 8 * GIB });
  commit('2-31');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(3_000);
  expect(lines.at(-1)?.['cpuBecause']).toMatch(/^0 CPUs can be lent: .*; 3 is published, since pods hold it$/);
  await pass(OPTIONS.maxAgeMs);
  expect(node.published).toEqual({ milliCpu: 3_000, memoryBytes: 8 * GIB });
  expect(job.figures.because).toMatch(
    /^no CPU can be lent: .*; 3 is published, since pods hold it; no memory can be lent: .*; 8 GiB is published, since pods hold it$/,
  );
  // One of them has ended.
  hold({ milliCpu: 1_000, memoryBytes: 0 });
  measure({ poolCpus: 4, memoryGib: 64 });
  await pass(SOON_MS);
  expect(node.published).toEqual({ milliCpu: 1_000, memoryBytes: 0 });
  end.abort();
  await running;
});

test('before the pods are known nothing is put on the Node and nothing there is lowered', async () => {
  const { node, measure, hold, job, end, running } = start();
  hold({});
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS);
  expect(node.tries).toBe(0);
  expect(job.figures.because).toMatch(/; nothing is published before the pods of this node are known/);
  hold({ milliCpu: 22_000, memoryBytes: 0 });
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published).toEqual({ milliCpu: 22_000, memoryBytes: 32 * GIB });
  end.abort();
  await running;
});

test('the reason stays the same text while only figures of use change, and is a new one when what is lent or its ground changes', async () => {
  const { node, measure, job, end, running } = start();
  const reasons: string[] = [];
  const round = async (use: Parameters<typeof measure>[0]): Promise<void> => {
    measure(use);
    await pass(PERIOD_MS);
    reasons.push(job.figures.because);
  };
  for (let step = 0; step < 5; step += 1) await round({ poolCpus: 3.9 - step / 100, memoryGib: 15.999 - step / 100 });
  expect(new Set(reasons).size).toBe(1);
  expect(reasons[0]).toMatch(/^20\.1 CPUs can be lent: .*; 32 GiB can be lent: /);
  expect(node.writes).toHaveLength(1);
  await round({ poolCpus: 4.5, memoryGib: 15.9 });
  expect(reasons.at(-1)).toMatch(/^19\.5 CPUs can be lent: /);
  node.reading = { ...node.reading, annotations: { 'reserve.node.gocrane.io/cpu': 'much' } };
  for (let step = 0; step < 7; step += 1) await round({ poolCpus: 4.4, memoryGib: 15.9 });
  expect(reasons.at(-1)).toMatch(/"much", which is no share/);
  expect(node.published.milliCpu).toBe(19_000);
  end.abort();
  await running;
});

test('amounts that somebody else changed or removed are published again within a minute and a collection', async () => {
  const { node, measure, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS);
  node.publish({ milliCpu: 31_000 });
  for (let round = 0; round < 7; round += 1) {
    measure({ poolCpus: 4 });
    await pass(PERIOD_MS);
  }
  expect(node.published).toEqual({ milliCpu: 20_000, memoryBytes: 32 * GIB });
  end.abort();
  await running;
});

test('a prediction above what is measured is taken off, until the time of its last sample', async () => {
  const sampleAt = (minute: number) => ({ atMs: START_MS + minute * 60_000, value: 20 });
  const prediction = { target: '10.0.0.7', series: [{ resource: 'cpu' as const, samples: [0, 3].map(sampleAt) }] };
  const { node, measure, end, running } = start({ prediction: () => prediction });
  const rounds = async (count: number): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      measure({ poolCpus: 4 });
      await pass(PERIOD_MS);
    }
  };
  await rounds(18);
  expect(node.published.milliCpu).toBe(4_000);
  await rounds(2);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('growth whose write failed is tried again before the next collection', async () => {
  const { node, measure, commit, end, running } = start({ exclusive: '8-23' });
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  node.before = away;
  commit('');
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(4_000);
  node.before = () => undefined;
  await pass(PERIOD_MS / 2);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('a write whose answer was lost is made again', async () => {
  const node = new FakeNode();
  let isLost = false;
  const write: FakeNode['write'] = async (wanted, signal) => {
    await node.write(wanted, signal);
    if (isLost) throw new KubeError('the connection was closed', 0);
  };
  const { measure, commit, end, running } = start({ node, write });
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  isLost = true;
  commit('8-23');
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(4_000);
  isLost = false;
  commit('');
  measure({ poolCpus: 4 });
  await pass(1_000);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('before the runtime has told its containers no CPU is lent', async () => {
  const { node, measure, model, end, running } = start();
  model.synchronized = false;
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published).toEqual({ memoryBytes: 32 * GIB });
  await pass(PERIOD_MS);
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS);
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(0);
  model.synchronized = true;
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  expect(node.published.milliCpu).toBe(20_000);
  end.abort();
  await running;
});

test('nothing is published before the note about it is on disk', async () => {
  let isFull = true;
  const order: string[] = [];
  const fs = {
    ...nodeFsOps,
    fsync: (fd: number): void => {
      if (isFull) throw fsError('ENOSPC');
      order.push('sync');
      nodeFsOps.fsync(fd);
    },
  };
  const { node, measure, lines, end, running } = start({ fs });
  node.before = (call) => {
    order.push(call);
  };
  measure({ poolCpus: 4 });
  await pass(PERIOD_MS);
  expect(node.tries).toBe(0);
  expect(lines.map(({ because }) => because)).toEqual([
    expect.stringMatching(/node-resources\.json: the file system is full/),
  ]);
  isFull = false;
  order.length = 0;
  await pass(PERIOD_MS);
  expect(order.slice(0, 3)).toEqual(['sync', 'sync', 'write']);
  end.abort();
  await running;
});

describe('after a kill', () => {
  /** A process that published, and was killed: its job goes on in vain, on a node of its own. */
  const killed = async () => {
    const before = start();
    before.measure({ poolCpus: 4 });
    await pass(SOON_MS);
    const node = new FakeNode();
    node.publish(before.node.published);
    expect(node.published).toEqual({ milliCpu: 20_000, memoryBytes: 32 * GIB });
    const stateDir = makeDir();
    const text = readFileSync(join(before.stateDir, OWED.lentResources.file), 'utf8');
    writeFileSync(join(stateDir, OWED.lentResources.file), text);
    before.end.abort();
    await before.running;
    return { node, stateDir };
  };

  test('a start with the option off removes the resources, also when the API server comes late', async () => {
    const { node, stateDir } = await killed();
    node.before = away;
    const { running, lines } = start({ node, stateDir, off: true });
    await pass(60_000);
    expect(node.published.milliCpu).toBe(20_000);
    node.before = () => undefined;
    await pass(15_000);
    await running;
    expect(node.published).toEqual({});
    expect(existsSync(join(stateDir, OWED.lentResources.file))).toBe(false);
    expect(lines.at(-1)?.['msg']).toBe('the node lends nothing any more: its resources are removed');
  });

  test('of any step: what is on the Node has a note on disk, and the next start removes it', async () => {
    let wasReached = true;
    for (let killAt = 0; wasReached; killAt += 1) {
      wasReached = false;
      let steps = 0;
      const step = (): void => {
        if (steps++ < killAt) return;
        wasReached = true;
        throw fsError('EDEAD');
      };
      const node = new FakeNode();
      node.before = step;
      const { measure, stateDir, end, running } = start({ node, fs: watchOps(step) });
      measure({ poolCpus: 4 });
      await pass(SOON_MS);
      const isNoted = isOwed(stateDir, OWED.lentResources);
      expect(isNoted || Object.keys(node.published).length === 0).toBe(true);
      end.abort();
      await running;
      node.before = () => undefined;
      await start({ node, stateDir, off: true }).running;
      expect(node.published).toEqual({});
      expect(isOwed(stateDir, OWED.lentResources)).toBe(false);
      if (!wasReached) expect(killAt).toBeGreaterThan(10);
    }
  });

  test('a damaged note is not forgotten when what was set aside is removed: lent resources go at the end and with the option off', async () => {
    for (const off of [false, true]) {
      const { node, stateDir } = await killed();
      const path = join(stateDir, OWED.lentResources.file);
      writeFileSync(path, '{"version":');
      const job = start({ node, stateDir });
      await pass(SOON_MS);
      rmSync(`${path}.bad-1`);
      if (off) node.before = away;
      job.end.abort();
      await pass(REMOVE_MS);
      await job.running;
      node.before = () => undefined;
      if (off) await start({ node, stateDir, off }).running;
      expect(node.published).toEqual({});
      expect(isOwed(stateDir, OWED.lentResources)).toBe(false);
    }
  });

  test('a start with the option on goes on with them, and removes them at its end without a write of its own', async () => {
    const { node, stateDir } = await killed();
    const { running, measure, end } = start({ node, stateDir });
    await pass(PERIOD_MS);
    expect(node.writes).toEqual([]);
    measure({ poolCpus: 4 });
    await pass(SOON_MS);
    expect(node.writes).toEqual([]);
    end.abort();
    await running;
    expect(node.published).toEqual({});
  });

  test('a start that lends one of two resources removes the other one, with what is published of the first', async () => {
    const { node, stateDir } = await killed();
    const allocatable = { milliCpu: 32_000 };
    node.reading = { ...node.reading, allocatable, lent: { milliCpu: 20_000 }, hasOther: true };
    const { running, measure, end } = start({ node, stateDir });
    measure({ poolCpus: 4 });
    await pass(SOON_MS);
    expect(node.writes.map(({ wanted }) => wanted)).toEqual([{ milliCpu: 20_000 }]);
    end.abort();
    await running;
  });

  test('a start that never measures anything lends nothing after the age of a measurement', async () => {
    const { node, stateDir } = await killed();
    const { running, end } = start({ node, stateDir });
    await pass(OPTIONS.maxAgeMs + SOON_MS);
    expect(node.published).toEqual({ milliCpu: 0, memoryBytes: 0 });
    end.abort();
    await running;
  });

  test.each(['', '{"version":9}', '[]'])('a note that is broken (%j) counts as published', async (text) => {
    const { node, stateDir } = await killed();
    writeFileSync(join(stateDir, OWED.lentResources.file), text);
    await start({ node, stateDir, off: true }).running;
    expect(node.published).toEqual({});
  });

  test('resources on a Node of another name are left there, and told once', async () => {
    const { node, stateDir } = await killed();
    const { running, lines } = start({ node, stateDir, off: true, nodeName: 'node-b' });
    await running;
    expect(lines.map(({ msg, node: name }) => [msg, name])).toEqual([
      ['resources were published on a Node of another name: they are left there', 'node-a'],
    ]);
    expect(node.tries).toBe(0);
    expect(isOwed(stateDir, OWED.lentResources)).toBe(false);
  });

  test('so is a start that lends under another name, with the command that removes them, before its own note replaces that', async () => {
    const { stateDir } = await killed();
    const next = start({ stateDir, nodeName: 'node-b' });
    next.measure({ poolCpus: 4 });
    await pass(SOON_MS);
    expect(next.lines[0]).toMatchObject({
      msg: 'resources were published on a Node of another name: they are left there',
      node: 'node-a',
      remove: expect.stringContaining('kubectl patch node node-a --subresource=status') as string,
    });
    expect(next.node.published).not.toEqual({});
    next.end.abort();
    await next.running;
    expect(next.node.published).toEqual({});
  });
});

test('without the option and without a note nothing is read and nothing is written', async () => {
  const { node, running, measure } = start({ off: true });
  const calls: string[] = [];
  node.before = (call) => void calls.push(call);
  measure({ poolCpus: 4 });
  await pass(60_000);
  await running;
  expect(calls).toEqual([]);
});

test('an API server that never answers delays the end by a bounded time, and the next start removes the resources', async () => {
  const { node, measure, stateDir, lines, end, running } = start();
  measure({ poolCpus: 4 });
  await pass(SOON_MS);
  node.before = () => new Promise(() => undefined);
  end.abort();
  let hasEnded = false;
  void running.then(() => (hasEnded = true));
  await pass(REMOVE_MS - SOON_MS);
  expect(hasEnded).toBe(false);
  await pass(SOON_MS);
  expect(hasEnded).toBe(true);
  expect(lines.at(-1)).toMatchObject({
    level: 40,
    because: 'the API server did not answer in time',
    msg: 'the resources of the Node are not removed: the next start goes on with them',
  });
  node.before = () => undefined;
  await start({ node, stateDir, off: true }).running;
  expect(node.published).toEqual({});
});

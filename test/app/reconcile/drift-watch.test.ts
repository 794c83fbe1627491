import { setImmediate as turn } from 'node:timers/promises';
import { DriftWatch } from '../../../src/app/reconcile/drift-watch';
import type { Container } from '../../../src/core/model/container';
import type { NodeView } from '../../../src/core/model/node-view';
import type { Cgroups, CpusetWatch } from '../../../src/host';
import { cpus } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

type Outcome = ReturnType<CpusetWatch['add']>;
const NONE_LEFT: Outcome = { kind: 'unwatched', isLimit: true, because: 'none left (ENOSPC); raise the limit' };

/** A kernel that grants so many watches, and the containers c0, c1, … which are promised CPU 1. */
function watching(count: number, limit = Infinity) {
  const kernel = { limit, fails: undefined as (() => Outcome) | undefined, attempts: 0, watched: new Set<string>() };
  const has = new Map<string, string>();
  let port!: Parameters<Cgroups['watch']>[0];
  const drifted: string[] = [];
  /** Containers that are read back anyway. */
  const inLine = new Set<string>();
  const containers = new Map<string, Container>();
  const run = (id: string): void => {
    const container = { id, phase: 'running', cgroupsPath: `/p/${id}`, promise: { cpus: cpus('1'), mems: cpus('') } };
    containers.set(id, container as unknown as Container);
  };
  for (let i = 0; i < count; i++) run(`c${i}`);
  let unwatched = 0;
  const context = contextOf({
    model: { containers, allContainers: containers } as unknown as NodeView,
    cgroups: {
      watch: (options) => {
        port = options;
        return {
          add: (dir) => {
            kernel.attempts++;
            if (kernel.fails) return kernel.fails();
            if (kernel.watched.size >= kernel.limit) return NONE_LEFT;
            kernel.watched.add(dir);
            return { kind: 'watched' };
          },
          remove: (dir) => void kernel.watched.delete(dir),
          close: () => kernel.watched.clear(),
        };
      },
      readCpus: (dir) => {
        const list = cpus(has.get(dir) ?? '1');
        return { kind: 'found', cpus: list, effectiveCpus: list };
      },
    } as Pick<Cgroups, 'watch' | 'readCpus'> as Cgroups,
  });
  const { alarms } = context;
  context.events.on('cpusetUnwatched', 'counting', () => {
    unwatched++;
  });
  const watch = new DriftWatch({
    context,
    reconciler: {
      check: (ids) => drifted.push(...ids),
      willReadBack: (id) => inLine.has(id),
      noteWritten: () => undefined,
    },
  });
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 50; turns++) await turn();
  };
  const lose = (dir: string, because: string): void => {
    kernel.watched.delete(dir);
    port.onLost(dir, because);
  };
  /** Somebody writes; it is told when the cgroup is watched. */
  const write = (id: string, list: string): void => {
    has.set(`/p/${id}`, list);
    if (kernel.watched.has(`/p/${id}`)) port.onChange(`/p/${id}`);
  };
  return { watch, kernel, containers, run, settle, lose, write, drifted, inLine, alarms, unwatched: () => unwatched };
}

test('what the kernel has no watch for is an alarm, and is tried again: a raised limit helps in the next round', async () => {
  const { watch, kernel, settle, alarms, drifted, write, unwatched } = watching(5, 2);
  watch.follow();
  await settle();
  expect(kernel.watched.size).toBe(2);
  expect(alarms.list()).toMatchObject([{ kind: 'not-watched', subject: '', because: expect.stringContaining('raise the limit') }]); // prettier-ignore
  expect(unwatched()).toBe(3);

  write('c4', '0'); // while nobody looks
  kernel.limit = 5;
  watch.follow(); // an event is no round
  expect(kernel.watched.size).toBe(2);
  watch.tryAgain();
  await settle();
  expect(kernel.watched.size).toBe(5);
  expect(alarms.list()).toEqual([]);
  expect(drifted).toEqual(['c4']);
  expect(unwatched()).toBe(3);
});

test('without a watch left a round makes one attempt, and an event none for those who lack one', async () => {
  const { watch, kernel, settle, run } = watching(5_000, 0);
  watch.follow();
  await settle();
  expect(kernel.attempts).toBe(1);
  for (let rounds = 0; rounds < 3; rounds++) {
    watch.tryAgain();
    await settle();
  }
  expect(kernel.attempts).toBe(4);
  for (let events = 0; events < 10; events++) watch.follow();
  expect(kernel.attempts).toBe(4);
  run('new');
  watch.follow();
  expect(kernel.attempts).toBe(5);
});

test('thousands that are met at once are watched some in each turn', async () => {
  const { watch, kernel, settle, containers } = watching(1_000);
  watch.follow();
  expect(kernel.attempts).toBe(64);
  watch.follow(); // an event in between begins nothing twice
  expect(kernel.attempts).toBe(64);
  containers.delete('c999');
  await settle();
  expect(kernel.attempts).toBe(999);
  expect(kernel.watched.size).toBe(999);
});

test('an event looks at nobody but those it is about, however many there are', async () => {
  const { watch, kernel, settle, containers, run } = watching(1_000);
  watch.follow();
  await settle();
  const looks = jest.spyOn(containers, 'get');
  run('new');
  watch.follow(['new']);
  containers.delete('c7');
  watch.follow(['c7', 'c8']);
  expect(looks.mock.calls.length).toBeLessThan(10);
  expect(kernel.watched.size).toBe(1_000);
  expect([kernel.watched.has('/p/new'), kernel.watched.has('/p/c7')]).toEqual([true, false]);
});

test('what a fault kept from being followed is followed with the next event', () => {
  const { watch, kernel, containers } = watching(3);
  const fails = jest.spyOn(containers, 'get').mockImplementation(() => {
    throw new TypeError('a fault');
  });
  expect(() => watch.follow(['c0'])).toThrow('a fault');
  fails.mockRestore();
  watch.follow(['c1']);
  expect(kernel.watched.size).toBe(3);
});

test('a watch that breaks is counted, is an alarm, and is begun again by the next round', async () => {
  const { watch, kernel, settle, lose, alarms, unwatched } = watching(2);
  watch.follow();
  lose('/p/c1', 'EIO');
  expect(unwatched()).toBe(1);
  expect(alarms.list()).toMatchObject([{ kind: 'not-watched', because: expect.stringContaining('has broken: EIO') }]);
  watch.tryAgain();
  await settle();
  expect([...kernel.watched].sort()).toEqual(['/p/c0', '/p/c1']);
  expect(alarms.list()).toEqual([]);
});

test('one that can’t be watched for a reason of its own keeps nobody else from it', async () => {
  const { watch, kernel, settle, alarms } = watching(3);
  let calls = 0;
  kernel.fails = () => (++calls === 1 ? { kind: 'unwatched', isLimit: false, because: 'EACCES' } : { kind: 'watched' });
  watch.follow();
  await settle();
  expect(calls).toBe(3);
  expect(alarms.list()).toHaveLength(1);
});

test('a fault in watching is tried again by rounds, not by events', async () => {
  const { watch, kernel, settle, alarms } = watching(2);
  kernel.fails = () => {
    throw new TypeError('a fault');
  };
  watch.follow();
  for (let events = 0; events < 5; events++) watch.follow();
  expect(kernel.attempts).toBe(2);
  for (let rounds = 0; rounds < 2; rounds++) watch.tryAgain();
  expect(alarms.list().map(({ kind }) => kind)).toContain('internal-fault');
  kernel.fails = undefined;
  watch.tryAgain();
  await settle();
  expect(kernel.watched.size).toBe(2);
  expect(alarms.list()).toEqual([]);
});

test('the alarm ends with the containers that it was about', () => {
  const { watch, containers, alarms } = watching(1, 0);
  watch.follow();
  expect(alarms.list()).toHaveLength(1);
  containers.clear();
  watch.follow();
  expect(alarms.list()).toEqual([]);
});

test('a cgroup that is not there yet is nobody’s alarm, and is watched at a later event', () => {
  const { watch, kernel, alarms } = watching(1);
  kernel.fails = () => ({ kind: 'gone' });
  watch.follow();
  expect(alarms.list()).toEqual([]);
  kernel.fails = undefined;
  watch.follow(['another']);
  expect([...kernel.watched]).toEqual(['/p/c0']);
});

test('who is read back anyway is not compared as well', async () => {
  const { watch, settle, write, drifted, inLine } = watching(2);
  watch.follow();
  await settle();
  inLine.add('c0');
  write('c0', '3');
  write('c1', '3');
  await settle();
  expect(drifted).toEqual(['c1']);
});

test('after close nothing is begun', async () => {
  const { watch, kernel, settle } = watching(200);
  watch.follow();
  watch.close();
  await settle();
  watch.follow();
  watch.tryAgain();
  await settle();
  expect(kernel.attempts).toBe(64);
});

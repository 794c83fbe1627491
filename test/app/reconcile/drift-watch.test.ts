import { setImmediate as turn } from 'node:timers/promises';
import { DriftWatch } from '../../../src/app/reconcile/drift-watch';
import type { Container } from '../../../src/core/model/container';
import type { NodeView } from '../../../src/core/model/node-view';
import type { Cgroups, CpusetWatch } from '../../../src/host';
import { cpus } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

type Outcome = ReturnType<CpusetWatch['add']>;
const NONE_LEFT: Outcome = { kind: 'unwatched', isLimit: true, because: 'none left (ENOSPC); raise the limit' };

/** A kernel with a limit of watches, and containers c0, c1, … with CPU 1 promised. */
function watching(count: number, limit = Infinity) {
  const kernel = { limit, fails: undefined as (() => Outcome) | undefined, attempts: 0, watched: new Set<string>() };
  const has = new Map<string, string>();
  let port!: Parameters<Cgroups['watch']>[0];
  const drifted: string[] = [];
  /** Containers that are already in the read-back queue. */
  const queued = new Set<string>();
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
      willReadBack: (id) => queued.has(id),
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
  /** Another process writes a cpuset. The watch reports it if there is one. */
  const write = (id: string, list: string): void => {
    has.set(`/p/${id}`, list);
    if (kernel.watched.has(`/p/${id}`)) port.onChange(`/p/${id}`);
  };
  return { watch, kernel, containers, run, settle, lose, write, drifted, queued, alarms, unwatched: () => unwatched };
}

test('cgroups beyond the watch limit are an alarm, and a round watches and compares them once the limit is raised', async () => {
  const { watch, kernel, settle, alarms, drifted, write, unwatched } = watching(5, 2);
  watch.follow();
  await settle();
  expect(kernel.watched.size).toBe(2);
  expect(alarms.list()).toMatchObject([{ kind: 'not-watched', subject: '', because: expect.stringContaining('raise the limit') }]); // prettier-ignore
  expect(unwatched()).toBe(3);

  write('c4', '0'); // not watched
  kernel.limit = 5;
  watch.follow(); // an event does not try again
  expect(kernel.watched.size).toBe(2);
  watch.tryAgain();
  await settle();
  expect(kernel.watched.size).toBe(5);
  expect(alarms.list()).toEqual([]);
  expect(drifted).toEqual(['c4']);
  expect(unwatched()).toBe(3);
});

test('without a free watch a round makes one attempt, and an event tries only new containers', async () => {
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

test('a thousand containers are watched in several turns', async () => {
  const { watch, kernel, settle, containers } = watching(1_000);
  watch.follow();
  expect(kernel.attempts).toBe(64);
  watch.follow(); // an event in between starts nothing twice
  expect(kernel.attempts).toBe(64);
  containers.delete('c999');
  await settle();
  expect(kernel.attempts).toBe(999);
  expect(kernel.watched.size).toBe(999);
});

test('an event reads only the containers it names', async () => {
  const { watch, kernel, settle, containers, run } = watching(1_000);
  watch.follow();
  await settle();
  const gets = jest.spyOn(containers, 'get');
  run('new');
  watch.follow(['new']);
  containers.delete('c7');
  watch.follow(['c7', 'c8']);
  expect(gets.mock.calls.length).toBeLessThan(10);
  expect(kernel.watched.size).toBe(1_000);
  expect([kernel.watched.has('/p/new'), kernel.watched.has('/p/c7')]).toEqual([true, false]);
});

test('containers that a fault left unwatched are watched at the next event', () => {
  const { watch, kernel, containers } = watching(3);
  const fails = jest.spyOn(containers, 'get').mockImplementation(() => {
    throw new TypeError('a fault');
  });
  expect(() => watch.follow(['c0'])).toThrow('a fault');
  fails.mockRestore();
  watch.follow(['c1']);
  expect(kernel.watched.size).toBe(3);
});

test('a broken watch is counted, is an alarm, and is replaced in the next round', async () => {
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

test('a container whose watch fails does not keep others from theirs', async () => {
  const { watch, kernel, settle, alarms } = watching(3);
  let calls = 0;
  kernel.fails = () => (++calls === 1 ? { kind: 'unwatched', isLimit: false, because: 'EACCES' } : { kind: 'watched' });
  watch.follow();
  await settle();
  expect(calls).toBe(3);
  expect(alarms.list()).toHaveLength(1);
});

test('a fault in adding a watch is repeated by rounds, not by events', async () => {
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

test('the alarm ends with its containers', () => {
  const { watch, containers, alarms } = watching(1, 0);
  watch.follow();
  expect(alarms.list()).toHaveLength(1);
  containers.clear();
  watch.follow();
  expect(alarms.list()).toEqual([]);
});

test('a missing cgroup is no alarm, and is watched at a later event', () => {
  const { watch, kernel, alarms } = watching(1);
  kernel.fails = () => ({ kind: 'gone' });
  watch.follow();
  expect(alarms.list()).toEqual([]);
  kernel.fails = undefined;
  watch.follow(['another']);
  expect([...kernel.watched]).toEqual(['/p/c0']);
});

test('a container in the read-back queue is not compared', async () => {
  const { watch, settle, write, drifted, queued } = watching(2);
  watch.follow();
  await settle();
  queued.add('c0');
  write('c0', '3');
  write('c1', '3');
  await settle();
  expect(drifted).toEqual(['c1']);
});

test('after close no watch is added', async () => {
  const { watch, kernel, settle } = watching(200);
  watch.follow();
  watch.close();
  await settle();
  watch.follow();
  watch.tryAgain();
  await settle();
  expect(kernel.attempts).toBe(64);
});

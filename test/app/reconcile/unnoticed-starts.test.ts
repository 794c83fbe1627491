import { UnnoticedStarts } from '../../../src/app/reconcile/unnoticed-starts';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

type Listed = ReturnType<Cgroups['listThreads']>;

const NONE: Listed = { kind: 'found', threads: [], more: false, hidden: 0 };
/** A thread of another PID namespace. */
const ONE: Listed = { ...NONE, hidden: 1 };

/** A node whose cgroups have the threads that the test sets, by the name of the container. */
function stageOf(history: string) {
  const node = new NodeDriver().run(history);
  const { model } = node;
  const threads = new Map<string, Listed | Error>();
  const looks: string[] = [];
  const listThreads = (path: string): Listed => {
    const container = [...model.containers.values()].find(({ cgroupsPath }) => cgroupsPath === path);
    looks.push(container!.name);
    const listed = threads.get(container!.name) ?? { kind: 'gone' };
    if (listed instanceof Error) throw listed;
    return listed;
  };
  const context = contextOf({ model, cgroups: { listThreads } as unknown as Cgroups });
  const transactor = new Transactor({ ...context, model, save: () => undefined, mover: { move: () => undefined } });
  const phases = (): string[] => [...model.containers.values()].map(({ name, phase }) => `${name} ${phase}`).sort();
  return { node, threads, looks, phases, alarms: context.alarms, starts: new UnnoticedStarts({ context, transactor }) };
}

test('given a process in the cgroup of a container whose start was not reported, then it counts as started in the second look', () => {
  const { starts, threads, phases } = stageOf('create p/a 2; create q/b 2');
  threads.set('a', ONE);
  starts.look();
  expect(phases()).toEqual(['a created', 'b created']);
  starts.look();
  expect(phases()).toEqual(['a running', 'b created']);
});

test.each([
  ['no process', NONE],
  ['no cgroup', { kind: 'gone' } as const],
])('given %s, then the container has not started', (_name, listed) => {
  const { starts, threads, phases, looks } = stageOf('create p/a 2');
  threads.set('a', listed);
  for (let i = 0; i < 3; i++) starts.look();
  expect(phases()).toEqual(['a created']);
  expect(looks).toEqual(['a', 'a']);
});

test('given a cgroup that cannot be read, then the container counts as started, and the sweep says that it is not known', () => {
  const { starts, threads, phases } = stageOf('create p/a 2');
  threads.set('a', { kind: 'error', errno: 'EACCES', because: 'EACCES' });
  for (let i = 0; i < 2; i++) starts.look();
  expect(phases()).toEqual(['a running']);
});

test('given a container that runs, then its cgroup is not looked at', () => {
  const { starts, looks } = stageOf('make p/a 2');
  for (let i = 0; i < 3; i++) starts.look();
  expect(looks).toEqual([]);
});

test('given a fault at one container, then the others are looked at, and the fault is an alarm', () => {
  const { starts, threads, phases, alarms } = stageOf('create p/a 2; create q/b 2');
  threads.set('a', new TypeError('an internal fault'));
  threads.set('b', ONE);
  for (let i = 0; i < 4; i++) starts.look();
  expect(phases()).toEqual(['a created', 'b running']);
  expect(alarms.list()).toMatchObject([{ kind: 'internal-fault' }]);
});

import { setImmediate as turn } from 'node:timers/promises';
import { Aftermath } from '../../src/app/aftermath';
import type { Transaction } from '../../src/app/transactor';
import type { NodeEvent } from '../../src/core/model/pod-event';
import type { Move } from '../../src/core/plan/plan-moves';
import { silentFaults } from '../support/faults';
import { podOf } from '../core/transition/node-driver';

/** An aftermath that writes down what is asked of it. */
function watch(failAt: Partial<Record<'tell' | 'makeRoom' | 'follow' | 'check', () => void>> = {}) {
  const done: string[] = [];
  const stop = new AbortController();
  const told: string[] = [];
  const aftermath = new Aftermath({
    tell: {
      'a fault': () => failAt.tell?.(),
      'a list': ({ event }) => void told.push(event),
    },
    makeRoom: ({ uid }) => {
      failAt.makeRoom?.();
      done.push(`room for ${uid}`);
    },
    follow: { 'a fault': () => failAt.follow?.(), 'a list': () => void done.push('follow') },
    check: (ids) => {
      failAt.check?.();
      done.push(`check ${ids?.join() ?? 'all'}`);
    },
    faults: silentFaults(),
    signal: stop.signal,
  });
  return { aftermath, done, told, stop };
}

function transactionOf(request?: NodeEvent, more: Partial<Transaction> = {}): Transaction {
  return {
    event: request?.kind ?? 'internal',
    ...(request && { request }),
    answer: { kind: 'ok' },
    moves: [],
    failedMoves: [],
    notes: [],
    timing: { decideMs: 0, saveMs: 0, moveMs: 0 },
    ...more,
  };
}

const started = (id: string) => ({ kind: 'container-started', container: { id } }) as NodeEvent;
const creation = { kind: 'create-container', pod: podOf('p'), container: { id: 'c' } } as NodeEvent;
const of = (kind: NodeEvent['kind']) => ({ kind }) as NodeEvent;
const moved = (...ids: string[]) => ids.map((containerId) => ({ containerId }) as Move);

test('it begins when the answer has left, once for all of a turn, and the next turn has its own', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(started('a')));
  aftermath.begin(transactionOf());
  aftermath.begin(transactionOf(started('b')));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['follow', 'check a,b']);
  aftermath.begin(transactionOf(started('c')));
  await turn();
  expect(done).toEqual(['follow', 'check a,b', 'follow', 'check c']);
});

test.each<[string, NodeEvent | undefined, readonly Move[], readonly string[]]>([
  ['a change of our own is followed, and looked at by nobody', undefined, moved('a'), ['follow']],
  [
    'above a container that is made is room for it; it runs nothing yet',
    creation,
    moved('a'),
    ['room for p', 'follow'],
  ],
  [
    'a container that has started is looked at, not those who made room',
    started('a'),
    moved('b'),
    ['follow', 'check a'],
  ],
  ['who was switched by its pod’s new spec is looked at', of('pod-spec'), moved('a', 'b'), ['follow', 'check a,b']],
  ['who was switched by a list of specs is looked at', of('pod-specs'), moved('a'), ['follow', 'check a']],
  ['a spec that moves nobody asks for no look', of('pod-spec'), [], ['follow']],
  ['after the runtime has told of all, all are looked at', of('synchronize'), moved('a'), ['follow', 'check all']],
])('%s', async (_name, event, moves, asked) => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(event, { moves }));
  await turn();
  expect(done).toEqual(asked);
});

test('a look at all has the ones in it that have just started, and is made once', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(of('synchronize')));
  aftermath.begin(transactionOf(started('a')));
  await turn();
  aftermath.begin(transactionOf());
  await turn();
  expect(done).toEqual(['follow', 'check all', 'follow']);
});

test('a creation that was refused needs no room', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(creation, { answer: { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: '' } }));
  await turn();
  expect(done).toEqual(['follow']);
});

test('every transaction is told of, in order and after the answer', async () => {
  const { aftermath, told } = watch();
  aftermath.begin(transactionOf(creation));
  aftermath.begin(transactionOf());
  expect(told).toEqual([]);
  await turn();
  expect(told).toEqual(['create-container', 'internal']);
});

test('nothing follows when all is to end, but what was done is told', async () => {
  const { aftermath, done, told, stop } = watch();
  aftermath.begin(transactionOf(started('a')));
  stop.abort();
  await turn();
  expect([done, told]).toEqual([[], ['container-started']]);
});

test.each(['tell', 'makeRoom', 'follow', 'check'] as const)(
  'a fault in %s keeps nothing else from its turn, then and later',
  async (part) => {
    const { aftermath, done, told } = watch({
      [part]: () => {
        throw new Error('a fault of our own');
      },
    });
    for (let i = 0; i < 2; i++) {
      aftermath.begin(transactionOf(creation));
      aftermath.begin(transactionOf(started('a')));
      await turn();
    }
    const all = { makeRoom: 'room for p', follow: 'follow', check: 'check a' };
    const rest = Object.entries(all).flatMap(([name, line]) => (name === part && part !== 'follow' ? [] : [line]));
    expect(done).toEqual([...rest, ...rest]);
    expect(told).toHaveLength(4);
  },
);

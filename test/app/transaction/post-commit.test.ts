import { setImmediate as turn } from 'node:timers/promises';
import { Aftermath } from '../../../src/app/transaction/post-commit';
import type { Transaction } from '../../../src/app/transaction/transactor';
import type { NodeEvent } from '../../../src/core/model/events';
import { silentFaults } from '../../support/faults';
import { podOf } from '../../core/transition/node-driver';

/** An aftermath that writes down what is asked of it. */
function watch(
  failAt: Partial<Record<'tell' | 'makeRoom' | 'watch' | 'check' | 'readBack' | 'follow', () => void>> = {},
) {
  const done: string[] = [];
  const stop = new AbortController();
  const told: string[] = [];
  const watched: (readonly string[] | undefined)[] = [];
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
    watch: (ids) => {
      failAt.watch?.();
      done.push('watch');
      watched.push(ids);
    },
    check: (ids) => {
      failAt.check?.();
      done.push(`check ${ids.join()}`);
    },
    readBack: (ids, { always, canWait = false }) => {
      failAt.readBack?.();
      done.push(`read ${ids?.join() ?? 'all'}${always ? ' always' : ''}${canWait ? ' later' : ''}`);
    },
    faults: silentFaults(),
    signal: stop.signal,
  });
  return { aftermath, done, told, watched, stop };
}

function transactionOf(request?: NodeEvent, more: Partial<Transaction> = {}): Transaction {
  return {
    event: request?.kind ?? 'internal',
    ...(request && { request }),
    answer: { kind: 'ok' },
    moves: [],
    failedMoves: [],
    outdated: [],
    notes: [],
    timing: { decideMs: 0, saveMs: 0, moveMs: 0 },
    ...more,
  };
}

const started = (id: string) => ({ kind: 'container-started', container: { id } }) as NodeEvent;
const creation = { kind: 'create-container', pod: podOf('p'), container: { id: 'c' } } as NodeEvent;
const of = (kind: NodeEvent['kind']) => ({ kind }) as NodeEvent;

test('it begins when the answer has left, once for all of a turn, and the next turn has its own', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(started('a')));
  aftermath.begin(transactionOf());
  aftermath.begin(transactionOf(started('b')));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['watch', 'check a,b', 'follow']);
  aftermath.begin(transactionOf(started('c')));
  await turn();
  expect(done).toEqual(['watch', 'check a,b', 'follow', 'watch', 'check c', 'follow']);
});

test.each<[string, NodeEvent | undefined, readonly string[] | undefined, readonly string[]]>([
  ['those that a change of our own concerns are read back', undefined, ['a'], ['watch', 'read a', 'follow']],
  [
    'above a container that is made is room for it, and those who made room are read back when it is made',
    creation,
    ['a', 'b'],
    ['room for p', 'watch', 'read a,b later', 'follow'],
  ],
  [
    'a container that has started is looked at before the others are read back',
    started('a'),
    ['a', 'b'],
    ['watch', 'check a', 'read a,b', 'follow'],
  ],
  ['who was switched by its pod’s new spec is read back', of('pod-spec'), ['a', 'b'], ['watch', 'read a,b', 'follow']],
  ['a spec that changes nobody asks for no look', of('pod-spec'), [], ['watch', 'follow']],
  ['after a change of machine or rules all are read back', undefined, undefined, ['watch', 'read all', 'follow']],
  [
    'after the runtime has told of all, all are looked at',
    of('synchronize'),
    ['a'],
    ['watch', 'read all always', 'follow'],
  ],
])('%s', async (_name, event, outdated, asked) => {
  const { aftermath, done, watched } = watch();
  const { outdated: _none, ...transaction } = transactionOf(event);
  aftermath.begin({ ...transaction, ...(outdated && { outdated }) });
  await turn();
  expect(done).toEqual(asked);
  expect(watched).toEqual([outdated]); // undefined: all
});

test('changes of one turn are read back together, each container once', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(undefined, { outdated: ['a', 'b'] }));
  aftermath.begin(transactionOf(undefined, { outdated: ['b', 'c'] }));
  await turn();
  expect(done).toEqual(['watch', 'read a,b,c', 'follow']);
});

test('a look at all has the others of the turn in it, and is made once', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(of('synchronize')));
  aftermath.begin(transactionOf(undefined, { outdated: ['a'] }));
  await turn();
  aftermath.begin(transactionOf());
  await turn();
  expect(done).toEqual(['watch', 'read all always', 'follow', 'watch', 'follow']);
});

test('a creation that was refused needs no room', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(transactionOf(creation, { answer: { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: '' } }));
  await turn();
  expect(done).toEqual(['watch', 'follow']);
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

test.each(['tell', 'makeRoom', 'watch', 'check', 'readBack', 'follow'] as const)(
  'a fault in %s keeps nothing else from its turn, then and later',
  async (part) => {
    const { aftermath, done, told } = watch({
      [part]: () => {
        throw new Error('a fault of our own');
      },
    });
    for (let i = 0; i < 2; i++) {
      aftermath.begin(transactionOf(creation));
      aftermath.begin(transactionOf(started('a'), { outdated: ['b'] }));
      await turn();
    }
    const all = {
      makeRoom: 'room for p',
      watch: 'watch',
      check: 'check a',
      readBack: 'read b later',
      follow: 'follow',
    };
    const rest = Object.entries(all).flatMap(([name, line]) => (name === part && part !== 'follow' ? [] : [line]));
    expect(done).toEqual([...rest, ...rest]);
    expect(told).toHaveLength(4);
  },
);

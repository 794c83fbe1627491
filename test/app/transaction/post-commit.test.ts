import { setImmediate as turn } from 'node:timers/promises';
import { PostCommit } from '../../../src/app/transaction/post-commit';
import { DaemonEvents } from '../../../src/app/transaction/daemon-events';
import type { Transaction } from '../../../src/app/transaction/transaction';
import type { NodeEvent } from '../../../src/core/model/events';
import { silentFaults } from '../../support/faults';
import { podOf } from '../../core/transition/node-driver';

/** A follow-up that writes down what is asked of it. */
function watch(
  failAt: Partial<Record<'tell' | 'widenPod' | 'watch' | 'check' | 'readBack' | 'follow', () => void>> = {},
) {
  const done: string[] = [];
  const stop = new AbortController();
  const told: string[] = [];
  const watched: (readonly string[] | undefined)[] = [];
  const faults = silentFaults();
  const events = new DaemonEvents(faults);
  events.on('committed', 'a fault', () => failAt.tell?.());
  events.on('committed', 'a list', ({ event }) => void told.push(event));
  events.on('turnEnded', 'a fault', () => failAt.follow?.());
  events.on('turnEnded', 'a list', () => void done.push('follow'));
  const postCommit = new PostCommit({
    events,
    widenPod: ({ uid }) => {
      failAt.widenPod?.();
      done.push(`room for ${uid}`);
    },
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
    faults,
    signal: stop.signal,
  });
  return { postCommit, done, told, watched, stop };
}

function transactionOf(request?: NodeEvent, more: Partial<Transaction> = {}): Transaction {
  return {
    event: request?.kind ?? 'internal',
    ...(request && { request }),
    answer: { kind: 'ok' },
    moves: [],
    failedMoves: [],
    outdated: [],
    reported: [],
    timing: { decideMs: 0, saveMs: 0, moveMs: 0 },
    ...more,
  };
}

const started = (id: string) => ({ kind: 'container-started', container: { id } }) as NodeEvent;
const creation = { kind: 'create-container', pod: podOf('p'), container: { id: 'c' } } as NodeEvent;
const of = (kind: NodeEvent['kind']) => ({ kind }) as NodeEvent;

test('it begins when the answer has left, once for all of a turn, and the next turn has its own', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(started('a')));
  postCommit.begin(transactionOf());
  postCommit.begin(transactionOf(started('b')));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['watch', 'check a,b', 'follow']);
  postCommit.begin(transactionOf(started('c')));
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
  const { postCommit, done, watched } = watch();
  const { outdated: _none, ...transaction } = transactionOf(event);
  postCommit.begin({ ...transaction, ...(outdated && { outdated }) });
  await turn();
  expect(done).toEqual(asked);
  expect(watched).toEqual([outdated]); // undefined: all
});

test('changes of one turn are read back together, each container once', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(undefined, { outdated: ['a', 'b'] }));
  postCommit.begin(transactionOf(undefined, { outdated: ['b', 'c'] }));
  await turn();
  expect(done).toEqual(['watch', 'read a,b,c', 'follow']);
});

test('a look at all has the others of the turn in it, and is made once', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(of('synchronize')));
  postCommit.begin(transactionOf(undefined, { outdated: ['a'] }));
  await turn();
  postCommit.begin(transactionOf());
  await turn();
  expect(done).toEqual(['watch', 'read all always', 'follow', 'watch', 'follow']);
});

test('a creation that was refused needs no room', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(creation, { answer: { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: '' } }));
  await turn();
  expect(done).toEqual(['watch', 'follow']);
});

test('every transaction is told of, in order and after the answer', async () => {
  const { postCommit, told } = watch();
  postCommit.begin(transactionOf(creation));
  postCommit.begin(transactionOf());
  expect(told).toEqual([]);
  await turn();
  expect(told).toEqual(['create-container', 'internal']);
});

test('nothing follows when all is to end, but what was done is told', async () => {
  const { postCommit, done, told, stop } = watch();
  postCommit.begin(transactionOf(started('a')));
  stop.abort();
  await turn();
  expect([done, told]).toEqual([[], ['container-started']]);
});

test.each(['tell', 'widenPod', 'watch', 'check', 'readBack', 'follow'] as const)(
  'a fault in %s keeps nothing else from its turn, then and later',
  async (part) => {
    const { postCommit, done, told } = watch({
      [part]: () => {
        throw new Error('a fault of our own');
      },
    });
    for (let i = 0; i < 2; i++) {
      postCommit.begin(transactionOf(creation));
      postCommit.begin(transactionOf(started('a'), { outdated: ['b'] }));
      await turn();
    }
    const all = {
      widenPod: 'room for p',
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

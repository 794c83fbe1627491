import { setImmediate as turn } from 'node:timers/promises';
import { PostCommit } from '../../../src/app/transaction/post-commit';
import { DaemonEvents } from '../../../src/app/transaction/daemon-events';
import type { Transaction } from '../../../src/app/transaction/transaction';
import type { NodeEvent } from '../../../src/core/model/events';
import { silentFaults } from '../../support/faults';
import { podOf } from '../../core/transition/node-driver';

/** A PostCommit whose calls are listed, each of which can be made to fail. */
function watch(
  failAt: Partial<Record<'committed' | 'widenPod' | 'watch' | 'check' | 'readBack' | 'follow', () => void>> = {},
) {
  const done: string[] = [];
  const stop = new AbortController();
  const committed: string[] = [];
  const watched: (readonly string[] | undefined)[] = [];
  const faults = silentFaults();
  const events = new DaemonEvents(faults);
  events.on('committed', 'a fault', () => failAt.committed?.());
  events.on('committed', 'a list', ({ event }) => void committed.push(event));
  events.on('turnEnded', 'a fault', () => failAt.follow?.());
  events.on('turnEnded', 'a list', () => void done.push('follow'));
  const postCommit = new PostCommit({
    events,
    widenPod: ({ uid }) => {
      failAt.widenPod?.();
      done.push(`widen ${uid}`);
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
  return { postCommit, done, committed, watched, stop };
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
const eventOf = (kind: NodeEvent['kind']) => ({ kind }) as NodeEvent;

test('the work begins after the answer, once per turn', async () => {
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
  ['an internal change: its containers are read back', undefined, ['a'], ['watch', 'read a', 'follow']],
  [
    'a creation: the cgroups above the pod are widened, and the moved containers are read back later',
    creation,
    ['a', 'b'],
    ['widen p', 'watch', 'read a,b later', 'follow'],
  ],
  [
    'a started container is checked before the others are read back',
    started('a'),
    ['a', 'b'],
    ['watch', 'check a', 'read a,b', 'follow'],
  ],
  [
    'a pod spec that switches containers: they are read back',
    eventOf('pod-spec'),
    ['a', 'b'],
    ['watch', 'read a,b', 'follow'],
  ],
  ['a pod spec that changes nothing: nothing is read back', eventOf('pod-spec'), [], ['watch', 'follow']],
  [
    'a change of machine or settings: all containers are read back',
    undefined,
    undefined,
    ['watch', 'read all', 'follow'],
  ],
  [
    'a synchronization: all containers are read back at once',
    eventOf('synchronize'),
    ['a'],
    ['watch', 'read all always', 'follow'],
  ],
])('%s', async (_name, event, outdated, asked) => {
  const { postCommit, done, watched } = watch();
  const { outdated: _none, ...transaction } = transactionOf(event);
  postCommit.begin({ ...transaction, ...(outdated && { outdated }) });
  await turn();
  expect(done).toEqual(asked);
  expect(watched).toEqual([outdated]); // undefined stands for all
});

test('changes of one turn are read back together, each container once', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(undefined, { outdated: ['a', 'b'] }));
  postCommit.begin(transactionOf(undefined, { outdated: ['b', 'c'] }));
  await turn();
  expect(done).toEqual(['watch', 'read a,b,c', 'follow']);
});

test('a read-back of all containers includes the others of its turn', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(eventOf('synchronize')));
  postCommit.begin(transactionOf(undefined, { outdated: ['a'] }));
  await turn();
  postCommit.begin(transactionOf());
  await turn();
  expect(done).toEqual(['watch', 'read all always', 'follow', 'watch', 'follow']);
});

test('a refused creation does not widen cgroups', async () => {
  const { postCommit, done } = watch();
  postCommit.begin(transactionOf(creation, { answer: { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: '' } }));
  await turn();
  expect(done).toEqual(['watch', 'follow']);
});

test('each transaction is reported to listeners, in order and after the answer', async () => {
  const { postCommit, committed } = watch();
  postCommit.begin(transactionOf(creation));
  postCommit.begin(transactionOf());
  expect(committed).toEqual([]);
  await turn();
  expect(committed).toEqual(['create-container', 'internal']);
});

test('after abort nothing is read, and listeners get the transactions', async () => {
  const { postCommit, done, committed, stop } = watch();
  postCommit.begin(transactionOf(started('a')));
  stop.abort();
  await turn();
  expect([done, committed]).toEqual([[], ['container-started']]);
});

test.each(['committed', 'widenPod', 'watch', 'check', 'readBack', 'follow'] as const)(
  'a fault in %s affects no other step, in this turn and the next',
  async (part) => {
    const { postCommit, done, committed } = watch({
      [part]: () => {
        throw new Error('an internal fault');
      },
    });
    for (let i = 0; i < 2; i++) {
      postCommit.begin(transactionOf(creation));
      postCommit.begin(transactionOf(started('a'), { outdated: ['b'] }));
      await turn();
    }
    const all = {
      widenPod: 'widen p',
      watch: 'watch',
      check: 'check a',
      readBack: 'read b later',
      follow: 'follow',
    };
    const rest = Object.entries(all).flatMap(([name, line]) => (name === part && part !== 'follow' ? [] : [line]));
    expect(done).toEqual([...rest, ...rest]);
    expect(committed).toHaveLength(4);
  },
);

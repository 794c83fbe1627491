import { setImmediate as turn } from 'node:timers/promises';
import { Aftermath } from '../../src/app/aftermath';
import type { NodeEvent } from '../../src/core/model/pod-event';
import type { Move } from '../../src/core/plan/plan-moves';

/** An aftermath that writes down what is asked of it. */
function watch() {
  const done: string[] = [];
  const stop = new AbortController();
  const aftermath = new Aftermath({
    follow: () => void done.push('follow'),
    check: (ids) => void done.push(`check ${ids?.join() ?? 'all'}`),
    signal: stop.signal,
  });
  return { aftermath, done, stop };
}

const started = (id: string) => ({ kind: 'container-started', container: { id } }) as NodeEvent;
const of = (kind: NodeEvent['kind']) => ({ kind }) as NodeEvent;
const moved = (...ids: string[]) => ids.map((containerId) => ({ containerId }) as Move);

test('it begins when the answer has left, once for all of a turn, and the next turn has its own', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(started('a'));
  aftermath.begin(undefined);
  aftermath.begin(started('b'));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['follow', 'check a,b']);
  aftermath.begin(started('c'));
  await turn();
  expect(done).toEqual(['follow', 'check a,b', 'follow', 'check c']);
});

test.each<[string, NodeEvent | undefined, readonly Move[], readonly string[]]>([
  ['a change of our own is followed, and looked at by nobody', undefined, moved('a'), ['follow']],
  ['a container that is only made runs nothing yet', of('create-container'), moved('a'), ['follow']],
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
  aftermath.begin(event, moves);
  await turn();
  expect(done).toEqual(asked);
});

test('a look at all has the ones in it that have just started, and is made once', async () => {
  const { aftermath, done } = watch();
  aftermath.begin(of('synchronize'));
  aftermath.begin(started('a'));
  await turn();
  aftermath.begin(undefined);
  await turn();
  expect(done).toEqual(['follow', 'check all', 'follow']);
});

test('nothing follows when all is to end', async () => {
  const { aftermath, done, stop } = watch();
  aftermath.begin(started('a'));
  stop.abort();
  await turn();
  expect(done).toEqual([]);
});

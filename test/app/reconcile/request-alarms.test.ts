import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { updateRequestAlarms } from '../../../src/app/reconcile/request-alarms';
import type { VerdictStore } from '../../../src/app/status/verdict-store';
import { CpuSet } from '../../../src/core/cpuset';
import { GONE_LIMIT_MS, type Missing, type Observation } from '../../../src/core/verdict/observation';
import { cpus, NodeDriver } from '../../core/transition/node-driver';

const ALONE = [{ text: 'ns/alone-*', namespace: 'ns', pod: 'alone-*' }];

const runsOn = (list: string): Observation => ({
  kind: 'seen',
  cpus: cpus(list),
  effective: cpus(list),
  mems: CpuSet.empty,
});
const unreadable: Observation = { kind: 'unreadable', because: 'EACCES' };
const missing = (since: Pick<Missing, 'forMs' | 'isConfirmed'>): Observation => ({
  kind: 'gone',
  missing: { because: 'its cgroup is not at /x', ...since },
});

/** The alarms after a round in which containers were observed so. */
function alarmsOf(node: NodeDriver, observed: Readonly<Record<string, Observation>>): readonly [string, string][] {
  const alarms = new Alarms({ log: pino({ level: 'silent' }), now: () => '', onChange: () => undefined });
  const get = (id: string) => {
    const observation = observed[id];
    return observation && ({ observation } as ReturnType<VerdictStore['get']>);
  };
  updateRequestAlarms({ model: node.model, alarms }, { get });
  return alarms.list().map(({ kind, because }) => [kind, because]);
}

describe('left-alone-disturbs', () => {
  const nodeWith = (history: string) => new NodeDriver(undefined, { leaveAlone: ALONE }).run(history);
  const notKnown = 'ns/alone-a app: it is left alone, and it is not known if it may run on exclusive CPUs of others';

  test.each<[string, Observation | undefined, string | undefined]>([
    [
      'runs on CPUs of others',
      runsOn('0-7'),
      'ns/alone-a app: it is left alone, and may run on exclusive CPUs 1,5 of ns/p db',
    ],
    ['runs beside them', runsOn('0,2-4,6-7'), undefined],
    ['has a cgroup that cannot be read', unreadable, `${notKnown}: EACCES`],
    [
      'runs, and its cgroup was not found for long',
      missing({ forMs: GONE_LIMIT_MS, isConfirmed: true }),
      `${notKnown}: its cgroup is not at /x; it runs so for more than 10 s`,
    ],
    ['has no cgroup for a moment', missing({ forMs: GONE_LIMIT_MS - 1, isConfirmed: true }), undefined],
    ['may have ended', missing({ forMs: 10 * GONE_LIMIT_MS, isConfirmed: false }), undefined],
    ['was not looked at yet', undefined, undefined],
  ])('a container that is left alone and %s', (_what, observed, because) => {
    const node = nodeWith('make alone-a/app 2; make p/db 2');
    expect(alarmsOf(node, observed ? { 'alone-a/app#1': observed } : {})).toEqual(
      because === undefined ? [] : [['left-alone-disturbs', because]],
    );
  });

  test('is no alarm where nobody owns CPUs, or the container has not started, whatever can be read', () => {
    expect(alarmsOf(nodeWith('make alone-a/app 2'), { 'alone-a/app#1': unreadable })).toEqual([]);
    expect(alarmsOf(nodeWith('create alone-a/app 2; make p/db 2'), { 'alone-a/app#1': unreadable })).toEqual([]);
  });

  test('names one that disturbs before those of which nothing is known, and counts the others', () => {
    const node = nodeWith('make alone-a/app 2; make alone-b/app 2; make p/db 2');
    const [alarm] = alarmsOf(node, { 'alone-a/app#1': unreadable, 'alone-b/app#1': runsOn('0-1') });
    expect(alarm).toEqual([
      'left-alone-disturbs',
      'ns/alone-b app: it is left alone, and may run on exclusive CPUs 1 of ns/p db; and 1 more',
    ]);
  });
});

test('not-as-requested names the first container that does not have what its request brought', () => {
  const node = new NodeDriver();
  node.bringing.set('q/web', { cpus: '1' });
  expect(alarmsOf(node.run('make q/web 0'), {})).toEqual([]);
  expect(alarmsOf(node.run('make p/db 2'), {})).toEqual([
    [
      'not-as-requested',
      'ns/q web: its request brought CPUs 1, and all of them are offline or others own them: it runs on 0,2-4,6-7',
    ],
  ]);
});

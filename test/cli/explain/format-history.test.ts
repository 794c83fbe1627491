import type { Explanation } from '../../../src/admin/model/explanation';
import { formatHistory } from '../../../src/cli/explain/format-history';
import { addSteps, listGone } from '../../../src/cli/explain/history';
import type { JournalRecord } from '../../../src/state/journal';
import { sampleStatus, sampleTopology } from '../../admin/sample-status';

const { topology } = sampleTopology;
const none: Explanation = { kind: 'containers', containers: [], idle: [], refused: [], others: [] };
const steps = [{ rule: 'whole-core', took: '2-3', because: 'the first free core' }];
const subjectOf = (uid: string) => ({ podUid: uid, pod: 'shop/web', container: 'app', containerId: `c-${uid}` });
const at = (second: number) => `2026-11-24T10:00:0${second}.000Z`;
const record = (second: number, kind: string, uid: string, facts: object = {}): JournalRecord => ({
  at: at(second),
  kind,
  ...subjectOf(uid),
  ...facts,
});

test('two pods of one name that are gone: each with its last placement, and the history with their uids', () => {
  const history = [
    record(1, 'pinned', 'u1', { cpus: '2-3', because: 'two free', steps }),
    record(2, 'idle', 'u1', { cpus: '2-3', because: 'it exited' }),
    record(3, 'released', 'u1', { cpus: '2-3', because: 'the pod is gone' }),
    record(4, 'refused', 'u2', { because: 'asked for 9' }),
  ];
  expect(formatHistory(none, history, topology)).toBe(
    [
      'shop/web app: is not here now, it had 2-3',
      '  because: two free',
      '  where:   2 parts of cores, 1 uncore cache, NUMA node 1, socket 1',
      '  steps:   whole-core 2-3: the first free core',
      '  since:   2026-11-24T10:00:01Z',
      '  last:    2026-11-24T10:00:03Z released: the pod is gone',
      '  uid:     u1',
      '',
      'shop/web app: was refused, and is not here now',
      '  because: asked for 9',
      '  since:   2026-11-24T10:00:04Z',
      '  uid:     u2',
      '',
      'History: all events of the journal.',
      'TIME                  KIND      POD       CONTAINER  CPUS  POD UID  BECAUSE',
      '2026-11-24T10:00:01Z  pinned    shop/web  app        2-3   u1       two free',
      '2026-11-24T10:00:02Z  idle      shop/web  app        2-3   u1       it exited',
      '2026-11-24T10:00:03Z  released  shop/web  app        2-3   u1       the pod is gone',
      '2026-11-24T10:00:04Z  refused   shop/web  app        -     u2       asked for 9',
      '',
    ].join('\n'),
  );
});

test('no history is no text, and of a long one the latest lines are shown', () => {
  expect(formatHistory(none, [], topology)).toBe('');
  const history = Array.from({ length: 50 }, (_, i) => record(i % 10, 'drifted', 'u1', { because: `drift ${i}` }));
  const text = formatHistory(none, history, topology);
  expect(text).toContain('History: the latest 20 of 50 events of the journal.\n');
  expect(text).not.toContain('drift 29\n');
  expect(text).toMatch(/drift 30\n[^]*drift 49\n$/);
});

test('a container that runs gets the steps of its own id, and is not among those that are gone', () => {
  const container = sampleStatus.containers.find(({ kind }) => kind === 'static')!;
  const { id, podUid, container: name } = container;
  const placed = { podUid, pod: 'default/web', container: name };
  const history = [
    { at: at(1), kind: 'pinned', ...placed, containerId: 'earlier', steps: [{ ...steps[0], took: '0' }] },
    {
      at: at(2),
      kind: 'pinned',
      ...placed,
      containerId: id,
      steps: [...steps, { rule: 7 }, null, { ...steps[0], took: 'x' }],
    },
    { at: at(3), kind: 'drifted', ...placed, containerId: id },
  ];
  const explanation: Explanation = { ...none, containers: [{ container, steps: [] }] };
  expect(JSON.parse(JSON.stringify(addSteps(explanation, history)))).toMatchObject({ containers: [{ steps }] });
  expect(listGone(explanation, history)).toEqual([]);
  const own = { rule: 'own', took: topology.online, because: '' };
  const known: Explanation = { ...none, containers: [{ container, steps: [own] }] };
  expect(addSteps(known, history)).toEqual(known);
});

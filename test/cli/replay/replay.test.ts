import { isDifferent, isUnexplained, replay, type ReplayRules } from '../../../src/cli/replay/replay';
import { readHistory } from '../../../src/cli/replay/read-inputs';
import type { Settings } from '../../../src/core/model/settings';
import type { JournalRecord } from '../../../src/state/journal';
import { machineOf, settingsWith, type Rules } from '../../core/transition/node-driver';
import { JournaledNode, playRandomly } from './support/journaled-node';

async function* streamOf(records: readonly JournalRecord[]): AsyncGenerator<JournalRecord> {
  for (const record of records) yield await Promise.resolve(record);
}

async function replayOf(node: JournaledNode, settings: Settings, rules: Partial<ReplayRules> = {}) {
  return replay(await readHistory(streamOf(node.records)), {
    settingsFor: () => settings,
    isAsRecorded: true,
    ...rules,
  });
}

const MACHINE = machineOf(8, 2);

test.each(Array.from({ length: 25 }, (_, i) => i + 1))(
  'the same options on the same machine decide as it was recorded (seed %d)',
  async (seed) => {
    const rules: Rules = seed % 2 === 0 ? { options: { fullPcpusOnly: true } } : {};
    const node = new JournaledNode(MACHINE, rules);
    playRandomly(node, seed, 120);
    const { requests } = await replayOf(node, settingsWith(rules));
    expect(requests.length).toBeGreaterThan(20);
    expect(requests.filter(isDifferent)).toEqual([]);
    expect(new Set(requests.map(({ recorded }) => recorded.kind)).size).toBeGreaterThan(1);
  },
);

test('a journal that begins in the middle: containers that were there keep their CPUs, and later ones are as recorded', async () => {
  const node = new JournaledNode(MACHINE, {});
  playRandomly(node, 7, 60);
  node.listNode();
  node.run('pod late; make late/app 1; make late/side 0.1');
  const { requests } = await replayOf(node, settingsWith());
  expect(requests.map(({ recorded }) => recorded.kind)).toEqual(['pinned', 'shares']);
  expect(requests.filter(isDifferent)).toEqual([]);
});

test('records that waited for the disk when their file was begun are older than the node in it, and are not played again', async () => {
  const node = new JournaledNode(MACHINE, {});
  node.run('pod a; make a/app 2; pod b; make b/app 2');
  const before = node.records.length;
  node.run('end a/app; stop a; remove a');
  node.listNodeBefore(node.records.length - before);
  node.run('pod late; make late/app 2');
  const { requests } = await replayOf(node, settingsWith());
  expect(requests).toMatchObject([{ pod: 'ns/late', recorded: { kind: 'pinned', cpus: '1,9' } }]);
  expect(requests.filter(isDifferent)).toEqual([]);
});

test.each([
  ['from the beginning', false, ['pinned', 'shares', 'shares']],
  ['from a later file', true, ['shares']],
])('a pod that has shown resources as a whole is known in a replay %s', async (_name, isLater, kinds) => {
  const node = new JournaledNode(MACHINE, {});
  const ofPod = { shares: 4096, quotaUs: 400_000, periodUs: 100_000, memoryLimitBytes: 1 << 28 };
  node.podFields.set('p', { podResources: ofPod });
  for (const name of ['p/a', 'p/b']) node.bringing.set(name, ofPod);
  node.run('pod p; make p/a 0');
  node.running = ['p/a#1'];
  node.run('make p/b 0; end p/a; end p/b');
  if (isLater) node.listNode();
  node.running = [];
  node.run('make p/a 0');
  const { requests } = await replayOf(node, settingsWith());
  expect(requests.map(({ replayed }) => replayed.kind)).toEqual(kinds);
  expect(requests.filter(isDifferent)).toEqual([]);
});

test('another policy: who had CPUs shares, and nobody is moved', async () => {
  const node = new JournaledNode(MACHINE, {});
  node.run('pod web; make web/app 0.5; pod db; make db/app 2');
  const { requests, moved } = await replayOf(node, settingsWith({ cpuManagerPolicy: 'none' }));
  expect(requests).toMatchObject([
    { pod: 'ns/web', container: 'app', recorded: { kind: 'shares' }, replayed: { kind: 'shares' } },
    { pod: 'ns/db', container: 'app', recorded: { kind: 'pinned', cpus: '1,9' }, replayed: { kind: 'shares' } },
  ]);
  expect(moved).toBe(0);
  expect((await replayOf(node, settingsWith())).moved).toBe(1);
});

test('whole cores only: what was pinned is refused, tries again included, and a refused container plays no further part', async () => {
  const node = new JournaledNode(MACHINE, {});
  node.run('pod odd; make odd/app 1; end odd/app; make odd/app 1; pod even; make even/app 2');
  const { requests } = await replayOf(node, settingsWith({ options: { fullPcpusOnly: true } }));
  expect(requests.map(({ pod, replayed }) => `${pod} ${replayed.kind}`)).toEqual([
    'ns/odd refused',
    'ns/odd refused',
    'ns/even pinned',
  ]);
});

test('a smaller machine: what does not fit is refused', async () => {
  const node = new JournaledNode(MACHINE, {});
  node.run('pod a; make a/app 4; pod b; make b/app 4');
  const { requests, view } = await replayOf(node, settingsWith(), {
    topology: machineOf(4, 2),
    isAsRecorded: false,
  });
  expect(view!.topology.online.size).toBe(8);
  expect(requests.map(({ replayed }) => replayed.kind)).toEqual(['pinned', 'refused']);
});

test('a container that was refused, tried again and made at last has its CPUs here from its first try to its end', async () => {
  const node = new JournaledNode(MACHINE, {});
  node.run(
    'pod big; make big/app 12; pod late; ask late/app 8; ask late/app 8; end big/app; stop big; remove big; make late/app 8; end late/app; stop late; remove late; pod next; make next/app 8',
  );
  const larger = await replayOf(node, settingsWith(), { topology: machineOf(16, 2), isAsRecorded: false });
  expect(larger.requests.map(({ pod, recorded, replayed }) => [pod, recorded.kind, replayed.kind])).toEqual([
    ['ns/big', 'pinned', 'pinned'],
    ['ns/late', 'refused', 'pinned'],
    ['ns/next', 'pinned', 'pinned'],
  ]);
  const same = await replayOf(node, settingsWith());
  expect(same.requests.filter(isDifferent)).toEqual([]);
});

test('free CPUs are means over time', async () => {
  const node = new JournaledNode(machineOf(4, 2), {});
  node.run('pod a; make a/app 2'); // at seconds 1 to 5
  const { meanFree } = await replayOf(node, settingsWith());
  expect(meanFree!.cpus).toBeGreaterThan(4);
  expect(meanFree!.cpus).toBeLessThan(7);
});

test('records that are no inputs of ours are left out', async () => {
  const at = '2026-11-24T10:00:00Z';
  const strange: readonly JournalRecord[] = [
    { at, kind: 'input' },
    { at, kind: 'input', of: 'event', event: { kind: 'teleport' } },
    { at, kind: 'input', of: 'event', event: { kind: 'create-container', pod: {} } },
    { at, kind: 'input', of: 'pod', info: null },
    { at, kind: 'input', of: 'settings', options: { a: 1 }, topology: {} },
    { at, kind: 'left-out' },
  ];
  const history = await readHistory(streamOf(strange));
  expect(history).toMatchObject({
    inputs: [],
    leftOut: [
      { reason: 'gap', count: 2 },
      { reason: 'bad-input', count: 2 },
      { reason: 'bad-rules', count: 1 },
      { reason: 'no-rules', count: 2 },
    ],
  });
  expect(replay(history, { settingsFor: () => settingsWith(), isAsRecorded: true }).requests).toEqual([]);
});

test('a journal that lost its beginning: it counts as partial until the next list of the node, and from there on decides as recorded', async () => {
  const node = new JournaledNode(MACHINE, {});
  playRandomly(node, 3, 120);
  const records = [...node.records];
  const lost = records.slice(40).filter(({ of: part }) => part !== 'settings');
  const rules = records.find(({ of: part }) => part === 'settings')!;
  node.listNode();
  const list = [...node.records];
  node.run('pod late; make late/app 1; make late/side 2');
  const history = await readHistory(streamOf([rules, ...lost, ...list, ...node.records.slice(list.length)]));
  expect(history.leftOut.map(({ reason }) => reason)).toEqual(['no-beginning']);
  const { requests } = replay(history, { settingsFor: () => settingsWith(), isAsRecorded: true });
  expect(requests.filter(isDifferent)).toEqual([]);
  expect(requests.filter(isUnexplained).length).toBeGreaterThan(0);
  expect(requests.filter(({ pod, isUncertain }) => pod === 'ns/late' && !isUncertain)).toHaveLength(2);
});

test.each([
  ['a namespace had too many events', { kind: 'left-out', namespace: 'ns' }, false],
  ['the journal was off', undefined, true],
])('from the start on, %s: it is known again with the next list of the node', async (_name, lost, afterGap) => {
  const node = new JournaledNode(MACHINE, {});
  node.run('pod a; make a/app 2');
  const before = [...node.records];
  node.run('pod b; make b/app 3'); // is not recorded
  node.listNode(afterGap);
  const list = [...node.records];
  node.run('pod c; make c/app 1');
  const after = node.records.slice(list.length);
  const at = '2026-11-24T10:00:00Z';
  const leftOut = afterGap ? [{ at, kind: 'left-out', because: 'the journal was off' }] : [];
  const history = await readHistory(
    streamOf([...before, ...(lost ? [{ at, ...lost }] : []), ...list, ...leftOut, ...after]),
  );
  expect(history.leftOut).toEqual([{ reason: 'gap', count: 1 }]);
  const { requests } = replay(history, { settingsFor: () => settingsWith(), isAsRecorded: true });
  expect(requests.map((request) => [request.pod, request.isUncertain, isDifferent(request)])).toEqual([
    ['ns/a', undefined, false],
    ['ns/c', undefined, false],
  ]);
});

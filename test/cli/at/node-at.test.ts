import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readNodeAt } from '../../../src/cli/at/node-at';
import type { NodeView } from '../../../src/core/model/node-view';
import type { JournalRecord } from '../../../src/state/journal';
import { JournaledNode, playRandomly } from '../replay/support/journaled-node';
import { machineOf } from '../../core/transition/node-driver';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';

const makeDir = useTempDirs();
const FIXTURE = join(__dirname, '../../fixtures/journal/v1');
const at = (time: string): number => Date.parse(`2026-11-24T${time}Z`);

/** A journal in a state directory: the records of each file. */
function writeJournal(...files: readonly (readonly object[])[]): string {
  const dir = makeDir();
  mkdirSync(join(dir, 'journal'));
  for (const [i, records] of files.entries()) {
    const { at = '2026-11-24T10:00:00.000Z' } = (records[0] ?? {}) as { at?: string };
    const lines = [{ journal: 1, writtenBy: 'cpusetd 0.1.0', at }, ...records];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    writeFileSync(join(dir, `journal/0000000${i + 1}.jsonl`), text);
  }
  return dir;
}

/** The owners, their CPUs, and those of all containers, as the node has them. */
const ownersIn = ({ assignments }: Pick<NodeView, 'assignments'>) =>
  [...assignments.values()]
    .map(
      (assignment) =>
        `${assignment.podName}/${assignment.containerName}: ${assignment.cpus.toString()} ${assignment.containerId === null ? 'idle' : ''}`,
    )
    .sort();
const containersIn = ({ containers }: Pick<NodeView, 'containers'>) =>
  [...containers.values()].map(({ id, promise }) => `${id}: ${promise?.cpus.toString() ?? '-'}`).sort();

test.each([1, 2, 3, 4, 5, 6])('at every time the node is as it was, seed %i', async (seed) => {
  const node = new JournaledNode(machineOf(8, 2), {});
  const then = new Map<number, { owners: readonly string[]; containers: readonly string[] }>();
  const files: (readonly JournalRecord[])[] = [];
  let steps = 0;
  playRandomly(node, seed, 40, () => {
    then.set(node.second, { owners: ownersIn(node.model), containers: containersIn(node.model) });
    if (++steps % 15 !== 0) return;
    files.push([...node.records]);
    node.listNode(); // a file begins with the whole node
  });
  const dir = writeJournal(...files, node.records);
  for (const [second, { owners, containers }] of then) {
    const seen = await readNodeAt(dir, Date.UTC(2026, 10, 24, 10, 0, second));
    const idle = new Set(seen.idle.map((assignment) => `${assignment.pod}/${assignment.container}`));
    expect(
      seen.topology.assignments
        .map(
          (assignment) =>
            `${assignment.pod}/${assignment.container}: ${assignment.cpus.toString()} ${idle.has(`${assignment.pod}/${assignment.container}`) ? 'idle' : ''}`,
        )
        .sort(),
    ).toEqual(owners);
    expect(seen.containers.map(({ id, promise }) => `${id}: ${promise?.cpus.toString() ?? '-'}`).sort()).toEqual(
      containers,
    );
    expect(seen.doubts).toEqual([]);
  }
  expect(then.size).toBeGreaterThan(30);
});

test('a journal of a real node: before a pod came, while it drifted, and after a kill', async () => {
  const before = await readNodeAt(FIXTURE, at('20:28:46.000'));
  expect(before.containers).toEqual([]);
  const later = await readNodeAt(FIXTURE, at('20:28:49.000'));
  expect(later.containers.map(({ pod, promise }) => [pod, promise?.cpus.toString()])).toEqual(
    expect.arrayContaining([
      ['db', '1'],
      ['web', '0'],
    ]),
  );
  expect([later.version, later.away, later.alarms]).toEqual(['0.1.0', undefined, []]);
});

describe('what is known of cpusetd itself', () => {
  const record = (second: number, kind: string, facts: object = {}): JournalRecord => ({
    at: `2026-11-24T10:00:0${second}.000Z`,
    kind,
    ...facts,
  });
  const beginning = () => new JournaledNode(machineOf(8, 2), {}).records;
  const readWith = (second: number, ...records: readonly JournalRecord[]) =>
    readNodeAt(
      writeJournal([...beginning(), record(1, 'settings', { version: '0.1.0' }), ...records]),
      at(`10:00:0${second}`),
    );

  test('it ran, as an end later says', async () => {
    expect((await readWith(2, record(3, 'stopped'))).away).toBeUndefined();
  });

  test('it had ended', async () => {
    expect((await readWith(4, record(3, 'stopped'))).away).toBe('stopped 2026-11-24T10:00:03Z');
  });

  test('it was killed: the gap is recorded by its next life', async () => {
    const gap = record(6, 'gap', { from: '2026-11-24T10:00:02.000Z' });
    const records = [record(5, 'settings', { version: '0.1.0' }), gap];
    expect((await readWith(4, ...records)).away).toBe(
      'not connected to the runtime from 2026-11-24T10:00:02Z to 2026-11-24T10:00:06Z',
    );
    expect((await readWith(7, ...records)).away).toBeUndefined();
  });

  test('an alarm that lasted, one that was over, and one of the life before', async () => {
    const alarm = (second: number, kind: string, name: string) => record(second, kind, { alarm: name, because: 'why' });
    const read = async (...records: readonly JournalRecord[]) =>
      (await readWith(5, ...records)).alarms.map((each) => each.alarm);
    expect(await read(alarm(2, 'alarm', 'a'), alarm(2, 'alarm', 'b'), alarm(3, 'alarm-over', 'b'))).toEqual(['a']);
    expect(await read(alarm(2, 'alarm', 'a'), record(3, 'settings', { version: '0.1.0' }))).toEqual([]);
  });
});

test.each([
  [
    ['status'],
    'before the journal',
    '2026-11-20T00:00:00Z',
    1,
    /has nothing of 2026-11-20T00:00:00Z or before: it begins/,
  ],
  [['status', '--watch'], 'with --watch', '2026-11-24T20:28:49Z', 2, /--at: the past does not change/],
  [['status', '--drifted'], 'with --drifted', '2026-11-24T20:28:49Z', 2, /--at: the journal has no verdicts/],
  [['topology', '--busy', '-o', 'table'], 'with --busy', '2026-11-24T20:28:49Z', 2, /--at: is of the past/],
  [
    ['cpu', '7'],
    'a CPU that was not there',
    '2026-11-24T20:28:49Z',
    1,
    /CPU 7: the machine had no such CPU online; it had 0-1/,
  ],
  [['cpu', 'x'], 'no CPU', '2026-11-24T20:28:49Z', 2, /It is no number of a CPU/],
  [['status'], 'no time', 'yesterday', 2, /It is no time/],
])('%j: %s', async (command, _what, time, status, message) => {
  const run = await runInProcess([...command, '--at', time, '--state-dir', FIXTURE]);
  expect(run).toMatchObject({ status, stdout: '', stderr: expect.stringMatching(message) });
});

test.each([
  [['status'], /\ndefault\/db +db +exclusive +1 +1 exclusive CPU, free on the node\n/],
  [['status', 'web'], /by the journal.*\n[^]*\n\nPOD[^]*default\/web/],
  [['topology'], /\nA  static +1 +default\/db db\n/],
  [['cpu', '1'], /\nCPU 1: exclusive\n\nPOD +CONTAINER +CPUS[^]*default\/db +db +1 /],
  [['cpu', '0'], /\nCPU 0: reserved for the system\n$/],
])('%j --at', async (command, text) => {
  const run = await runInProcess([...command, '--at', '2026-11-24T20:28:49Z', '--state-dir', FIXTURE]);
  expect(run).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(text) });
});

test.each([
  [['status'], 'containers'],
  [['cpu', '1'], 'owners'],
  [['topology'], 'owners'],
])('%j --at -o json', async (command, field) => {
  const run = await runInProcess([...command, '--at', '2026-11-24T20:28:49Z', '-o', 'json', '--state-dir', FIXTURE]);
  const data = JSON.parse(run.stdout) as Record<string, readonly unknown[]>;
  expect(data[field]!.length).toBeGreaterThan(0);
});

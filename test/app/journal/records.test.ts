import { pino } from 'pino';
import type { Alarm } from '../../../src/admin/model/alarm';
import { recordAlarms, recordsOf, type RefusalEntry } from '../../../src/app/journal/records';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { NodeEvent } from '../../../src/core/model/events';
import type { Refusal } from '../../../src/core/model/refusal';
import type { NewRecord } from '../../../src/state/journal';
import { EIGHT_CPUS, NodeDriver } from '../../core/transition/node-driver';

const first: RefusalEntry = { isRetry: false, refused: undefined };

/** A node whose transactions become records, as they are on disk. */
class JournaledNode extends NodeDriver {
  readonly records: unknown[] = [];
  entry: RefusalEntry = first;
  failMoves = false;
  private readonly transactor = new Transactor({
    model: this.model,
    save: () => undefined,
    mover: { move: () => (this.failMoves ? { kind: 'refused', because: 'read-only' } : undefined) },
    now: () => '2026-01-01T00:00:00.000Z',
    log: pino({ enabled: false }),
    observer: { onTransaction: (done) => void this.records.push(...toDisk(recordsOf(this.model, done, this.entry))) },
  });

  constructor() {
    super(EIGHT_CPUS, {});
  }

  override send(event: NodeEvent) {
    return (this.answer = this.transactor.handle(event));
  }
}

const toDisk = (records: readonly NewRecord[]): unknown[] => JSON.parse(JSON.stringify(records)) as unknown[];

test('a creation that moves the shared pool is its own record, and one for all containers that moved alike', () => {
  const node = new JournaledNode();
  for (let i = 0; i < 12; i++) node.run(`make web-${i}/app 0.1`);
  expect(node.records).toEqual([]); // they share, as expected
  node.run('create db/app 2');
  const step = { rule: expect.any(String), took: expect.any(String), because: expect.any(String) };
  expect(node.records).toMatchObject([
    {
      kind: 'pinned',
      pod: 'ns/db',
      container: 'app',
      policy: 'static',
      cpus: '1,5',
      steps: expect.arrayContaining([step]),
    },
    {
      kind: 'moved',
      containers: 12,
      names: Array.from({ length: 8 }, (_, i) => `ns/web-${i}/app`),
      cpus: '0,2-4,6-7',
      because: 'the shared pool changed',
      causedBy: 'ns/db/app',
    },
  ]);
});

test('a single container that moved is named, with the CPUs before; a move that could not be written is counted', () => {
  const node = new JournaledNode();
  node.run('make web/app 0.1');
  node.failMoves = true;
  node.run('create db/app 2');
  expect(node.records[1]).toEqual({
    kind: 'moved',
    podUid: 'web',
    pod: 'ns/web',
    container: 'app',
    containerId: 'web/app#1',
    from: '0-7',
    cpus: '0,2-4,6-7',
    because: 'the shared pool changed',
    causedBy: 'ns/db/app',
    notWritten: 1,
  });
});

test('pause containers and repairs have no record of a move', () => {
  const node = new JournaledNode();
  node.run('pod p; pause p 0-7; make web/app 0.1; pod db');
  node.records.length = 0;
  node.run('create db/app 2');
  expect(node.records.map((record) => (record as NewRecord).kind)).toEqual(['pinned', 'moved']);
  expect(node.records[1]).toMatchObject({ pod: 'ns/web' });
});

test('of a refusal that is repeated the first is kept, and then each that doubles the number', () => {
  const node = new JournaledNode();
  const refused = {
    asked: 'creation',
    requested: 8,
    policy: 'static',
    zones: [{ node: 0, allocatable: 7, free: 7 }],
    firstAt: 'then',
  };
  for (let times = 1; times <= 17; times++) {
    node.entry = { isRetry: times > 1, refused: { ...refused, times } as unknown as Refusal };
    node.run('ask big/app 8');
  }
  expect(node.records.map((record) => (record as NewRecord)['times'])).toEqual([1, 2, 4, 8, 16]);
  expect(node.records[0]).toMatchObject({ ...refused, kind: 'refused', pod: 'ns/big', code: 'RESOURCE_EXHAUSTED' });
});

test('the end of a container is kept, and so is that of its pod', () => {
  const node = new JournaledNode();
  node.run('pod db; make db/app 2; end db/app; stop db; remove db');
  expect(node.records).toMatchObject([
    { kind: 'pinned', cpus: '1,5' },
    { kind: 'idle', cpus: '1,5' },
    { kind: 'released', cpus: '1,5' },
  ]);
});

test('alarms: those that came, those that are over, and another reason is both', () => {
  const alarm = (kind: string, because = 'x', subject = ''): Alarm => ({ kind, subject, because, since: 'now' });
  expect(recordAlarms([], [alarm('a'), alarm('b', 'y', 'sub')])).toEqual([
    { kind: 'alarm', alarm: 'a', because: 'x' },
    { kind: 'alarm', alarm: 'b', subject: 'sub', because: 'y' },
  ]);
  expect(recordAlarms([alarm('a'), alarm('b')], [alarm('b')])).toEqual([
    { kind: 'alarm-over', alarm: 'a', because: 'x' },
  ]);
  expect(recordAlarms([alarm('a')], [alarm('a', 'z')])).toEqual([
    { kind: 'alarm-over', alarm: 'a', because: 'x' },
    { kind: 'alarm', alarm: 'a', because: 'z' },
  ]);
});

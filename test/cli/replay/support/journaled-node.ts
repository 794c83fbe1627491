import { pino } from 'pino';
import { InputRecorder } from '../../../../src/state/journal';
import { recordsOf } from '../../../../src/app/journal/records';
import { Transactor } from '../../../../src/app/transaction/transactor';
import type { NodeEvent } from '../../../../src/core/model/events';
import type { Topology } from '../../../../src/core/topology';
import type { JournalRecord } from '../../../../src/state/journal';
import { decodeLine } from '../../../../src/state/journal/record';
import { NodeDriver, type Rules } from '../../../core/transition/node-driver';
import { createRandom } from '../../../support/random';

/** A node whose transactions are a journal, as it is on disk. */
export class JournaledNode extends NodeDriver {
  readonly records: JournalRecord[] = [];
  /** Ids of containers that are seen to run when others are created. */
  running: readonly string[] = [];
  private readonly inputs = new InputRecorder(this.model, () => ({ options: {} }));
  /** Number of events so far: each has its second, from 10:00:00 on. */
  second = 0;
  private readonly transactor: Transactor;

  constructor(
    readonly topology: Topology,
    rules: Rules,
  ) {
    super(topology, rules);
    this.note([...this.inputs.start()]);
    this.transactor = new Transactor({
      model: this.model,
      save: () => undefined,
      mover: { move: () => undefined },
      now: () => '2026-01-01T00:00:00.000Z',
      log: pino({ enabled: false }),
      observer: {
        onTransaction: (done) =>
          this.note([...this.inputs.of(done), ...recordsOf(this.model, done, { isRetry: false, refused: undefined })]),
      },
    });
  }

  override send(event: NodeEvent) {
    this.second += 1;
    const seen = event.kind === 'create-container' ? { ...event, runsBeside: this.running } : event;
    return (this.answer = this.transactor.handle(seen));
  }

  /** The beginning of a file. */
  listNode(afterGap = false): void {
    this.records.length = 0;
    this.note([...this.inputs.list(0, afterGap)]);
  }

  /** The beginning of a file, before the latest records, which waited for the disk when it was begun. */
  listNodeBefore(count: number): void {
    const waiting = this.records.splice(-count);
    this.records.length = 0;
    this.note([...this.inputs.list(count)]);
    this.records.push(...waiting);
  }

  private note(records: readonly object[]): void {
    const at = new Date(Date.UTC(2026, 10, 24, 10, 0, this.second)).toISOString();
    for (const record of records) {
      const read = decodeLine(JSON.stringify({ at, ...record }));
      if (read.kind !== 'record') throw new Error('no reader takes the record');
      this.records.push(read.record);
    }
  }
}

/** Pods of random sizes that come, resize, end and go. */
export function playRandomly(node: JournaledNode, seed: number, steps: number, onStep?: () => void): void {
  const random = createRandom(seed);
  let pods = 0;
  const living = new Set<string>();
  for (let i = 0; i < steps; i++) {
    const name = random.pick([...living, '']);
    if (name === '') {
      const fresh = `p${pods++}`;
      node.run(`pod ${fresh}; make ${fresh}/app ${random.pick([0.1, 0.5, 1, 2, 3, 4, 6])}`);
      living.add(fresh);
    } else if (random.chance(0.2) && node.container(`${name}/app`))
      node.run(`resize ${name}/app ${random.pick([0.5, 1, 2, 3])}`);
    else if (random.chance(0.3)) node.run(`make ${name}/side ${random.pick([0.2, 1, 2])}`);
    else if (random.chance(0.4)) node.run(`end ${name}/app; make ${name}/app ${random.pick([1, 2, 2.5])}`);
    else {
      node.run(`end ${name}/app; stop ${name}; remove ${name}`);
      living.delete(name);
    }
    onStep?.();
  }
}

import { pino } from 'pino';
import { Alarms } from '../../../../src/app/alarms/alarms';
import { Faults } from '../../../../src/app/alarms/faults';
import type { NodeReading } from '../../../../src/app/qos/lent-resources';
import { NodeResourcesJob, type NodeResourcesParts } from '../../../../src/app/qos/node-resources-job';
import { DaemonEvents } from '../../../../src/app/transaction/daemon-events';
import { CpuSet, parseCpuList } from '../../../../src/core/cpuset';
import type { NodeView } from '../../../../src/core/model/node-view';
import type { LendingOptions } from '../../../../src/qos/reclaim/decide-lendable';
import type { PublishedResources } from '../../../../src/qos/reclaim/should-publish';

export const GIB = 2 ** 30;
/** Of a collection every 10 s. */
export const OPTIONS: LendingOptions = {
  windowMs: 3_600_000,
  percentile: 95,
  marginPercent: 0,
  maxAgeMs: 20_000,
  reserved: { cpuPercent: 25, memoryPercent: 25 },
  lendExclusiveIdle: false,
};

/** The Node of the API server, which may be away. */
export class FakeNode {
  reading: NodeReading = {
    allocatable: { milliCpu: 32_000, memoryBytes: 64 * GIB },
    annotations: {},
    addresses: ['10.0.0.7'],
    lent: {},
  };
  readonly writes: { readonly wanted: PublishedResources; readonly atMs: number }[] = [];
  /** Called before each answer; what it throws is the answer. */
  before: (call: 'read' | 'write', signal: AbortSignal) => void | Promise<void> = () => undefined;
  tries = 0;

  get published(): PublishedResources {
    return this.reading.lent;
  }

  /** As somebody else, or an earlier process, would. */
  publish(lent: PublishedResources): void {
    this.reading = { ...this.reading, lent };
  }

  readonly read = async (signal: AbortSignal): Promise<NodeReading> => {
    await this.before('read', signal);
    return this.reading;
  };

  readonly write = async (wanted: PublishedResources, signal: AbortSignal): Promise<void> => {
    this.tries += 1;
    await this.before('write', signal);
    this.publish(wanted);
    this.writes.push({ wanted, atMs: Date.now() });
  };
}

/** The values of the collector; GiB of memory. */
export interface Use {
  readonly poolCpus: number;
  readonly memoryGib?: number;
}

/**
 * A node of 32 CPUs, and the job that lends what is left of it. Its process may be killed: make another one on the same
 * node and directory.
 */
export function lendingNode(
  given: Omit<Partial<NodeResourcesParts>, 'context'> & {
    readonly stateDir: string;
    readonly node: FakeNode;
    readonly off?: boolean;
    readonly exclusive?: string;
  },
) {
  let held: PublishedResources = { milliCpu: 0, memoryBytes: 0 };
  const { stateDir, node, off = false, ...rest } = given;
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const faults = new Faults({ log, alarms });
  const events = new DaemonEvents(faults);
  const online = parseCpuList('0-31');
  const model = { exclusive: CpuSet.empty, sharedPool: online, synchronized: true };
  const own = (list: string): void => {
    model.exclusive = parseCpuList(list);
    model.sharedPool = online.minus(model.exclusive);
  };
  own(given.exclusive ?? '');
  const job = new NodeResourcesJob({
    context: { config: { stateDir }, model: model as unknown as NodeView, alarms, faults, events, log },
    ...(!off && { options: OPTIONS }),
    nodeName: 'node-a',
    read: node.read,
    write: node.write,
    held: () => held,
    ...rest,
  });
  const end = new AbortController();
  return {
    job,
    lines,
    alarms,
    model,
    end,
    run: () => job.run(end.signal),
    /** Pods come and go; `{}`: they are not known. */
    hold: (amounts: PublishedResources): void => {
      held = amounts;
    },
    /** A transaction that changed the exclusive CPUs. */
    commit: (list: string): void => {
      own(list);
      events.emit('committed', {} as never);
    },
    /** One collection: the exclusive CPUs are idle. */
    measure: ({ poolCpus, memoryGib = 16 }: Use): void => {
      const atMs = Date.now();
      const values = {
        cpu_total_usage: 1000 * poolCpus,
        exclusive_cpu_idle: 1000 * model.exclusive.size,
        memory_total_usage: memoryGib * GIB,
      };
      const metrics = new Map(Object.entries(values).map(([name, value]) => [name, [{ labels: {}, value, atMs }]]));
      job.onMetrics({ metrics, atMs, exclusive: model.exclusive });
    },
  };
}

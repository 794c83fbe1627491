import type { ContainerStatus, IdleAssignment, TopologyStatus } from '../../admin/model/status';
import { showCpus, type NodeCpus } from '../../app/status/show-node';
import { ShownModel } from '../../app/status/show-status';
import { VerdictStore } from '../../app/status/verdict-store';
import { CpuSet } from '../../core/cpuset';
import type { NodeView } from '../../core/model/node-view';
import { CpusetdError } from '../../core/errors';
import { formatTime, plural } from '../../core/text';
import { JournalError, readJournal, type JournalRecord } from '../../state/journal';
import { replayAsRecorded } from '../replay/compare';
import { describeLeftOut } from '../replay/left-out';
import { readHistory, type History } from '../replay/read-inputs';
import { isDifferent } from '../replay/replay';

/** A container as it was. The journal has decisions and drifts, and no readings of the kernel beside those. */
export interface ContainerThen extends Pick<
  ContainerStatus,
  'id' | 'podUid' | 'namespace' | 'pod' | 'container' | 'placement' | 'promise' | 'because' | 'since' | 'requested'
> {
  /** Its last drift, which was not repaired until then. */
  readonly drifted?: { readonly at: string; readonly found: string; readonly because: string };
}

/** A node as its journal has it at one time. */
export interface NodeThen {
  /** The time that was asked for, RFC 3339 as all times here. */
  readonly at: string;
  /** Time of the last record that is not later. */
  readonly lastRecordAt: string;
  /** The cpusetd that wrote these records. */
  readonly version: string;
  /** Absent while it ran: it had ended, or was not connected to the runtime. */
  readonly away?: string;
  readonly alarms: readonly { readonly since: string; readonly alarm: string; readonly because: string }[];
  readonly node: NodeCpus;
  readonly containers: readonly ContainerThen[];
  readonly idle: readonly IdleAssignment[];
  /** Reasons for which this may not be all, in words. */
  readonly doubts: readonly string[];
  readonly topology: Pick<TopologyStatus, 'topology' | 'offline' | 'assignments'>;
}

/**
 * Makes the node as it was at a time, from a journal (its directory, or the state directory that has it): all that
 * happened until then is decided again by the recorded options on the recorded machine. Throws NOT_FOUND when the
 * journal does not reach so far back, or has no beginning.
 */
export async function readNodeAt(path: string, atMs: number): Promise<NodeThen> {
  const at = new Date(atMs).toISOString();
  const then = new LifeUntil(atMs);
  await then.read(path);
  if (then.lastAt === undefined)
    throw new CpusetdError(
      'NOT_FOUND',
      `the journal ${path} has nothing of ${formatTime(at)} or before: ${then.firstAt === undefined ? 'it is empty' : `it begins ${formatTime(then.firstAt)}`}`,
    );
  const history = await readInputsUntil(path, { atMs, fromFile: then.file });
  const { view, requests } = await replayAsRecorded(history);
  if (!view)
    throw new CpusetdError(
      'NOT_FOUND',
      `the journal ${path} has no options and no machine of before ${formatTime(at)}`,
    );
  const shown = new ShownModel({ model: view, verdicts: new VerdictStore(), now: () => at });
  const others = requests.filter(isDifferent).length;
  return {
    at,
    lastRecordAt: then.lastAt,
    version: then.version,
    ...(then.away !== undefined && { away: then.away }),
    alarms: [...then.alarms.values()],
    node: showCpus(view),
    containers: shown.containers().flatMap((container) => (container.pause ? [] : [toThen(container, then.drifts)])),
    idle: shown.idle(),
    doubts: [
      ...history.leftOut.map(describeLeftOut),
      ...(others > 0
        ? [`${plural(others, 'decision')} came out otherwise when decided again: cpusetd events has what was decided`]
        : []),
    ],
    topology: { topology: view.topology, offline: offlineOf(view), assignments: shown.assignments() },
  };
}

/** CPUs that assignments have and that the machine did not have online. */
function offlineOf({ assignments, topology }: NodeView): CpuSet {
  return CpuSet.unionOf([...assignments.values()].map(({ cpus }) => cpus)).minus(topology.online);
}

function toThen(
  { id, podUid, namespace, pod, container, placement, promise, because, since, requested }: ContainerStatus,
  drifts: ReadonlyMap<string, JournalRecord>,
): ContainerThen {
  const drift = drifts.get(id);
  return {
    id,
    podUid,
    namespace,
    pod,
    container,
    placement,
    because,
    since,
    requested,
    ...(promise && { promise }),
    ...(drift && {
      drifted: { at: drift.at, found: textOf(drift['found']), because: drift.because ?? '' },
    }),
  };
}

/**
 * The inputs of decisions, from the last file on that begins before: it begins with the whole node, so the files before
 * it need not be kept.
 */
async function readInputsUntil(
  path: string,
  { atMs, fromFile }: { readonly atMs: number; readonly fromFile: number },
): Promise<History> {
  let unreadable = 0;
  const records = async function* (): AsyncGenerator<JournalRecord> {
    for await (const record of readJournal(path, { fromFile, onUnreadable: () => (unreadable += 1) })) {
      if (Date.parse(record.at) > atMs) return;
      yield record;
    }
  };
  return readHistory(records(), () => unreadable);
}

/**
 * All that a journal has until a time beside the inputs of decisions. Records after it are read for one thing only: a
 * gap that had begun before is recorded when it ends.
 */
class LifeUntil {
  firstAt: string | undefined;
  lastAt: string | undefined;
  /** The number of the last file that begins before the time. */
  file = 0;
  version = '';
  away: string | undefined;
  readonly alarms = new Map<string, { since: string; alarm: string; because: string }>();
  /** By the id of the container: those that were not repaired. */
  readonly drifts = new Map<string, JournalRecord>();
  private hasStartedLater = false;

  constructor(private readonly atMs: number) {}

  /** Throws NOT_FOUND when there is no journal. */
  async read(path: string): Promise<void> {
    const onFile = (number: number, atMs: number): void => {
      if (atMs <= this.atMs) this.file = number;
    };
    let isLater = false;
    try {
      for await (const record of readJournal(path, { onFile })) {
        this.firstAt ??= record.at;
        isLater ||= Date.parse(record.at) > this.atMs;
        if (isLater && this.decidesAway(record)) return;
        if (isLater) continue;
        this.lastAt = record.at;
        this.take(record);
      }
    } catch (error) {
      if (error instanceof JournalError) throw new CpusetdError('NOT_FOUND', error.message);
      throw error;
    }
  }

  private take(record: JournalRecord): void {
    const { at, kind, because = '', containerId = '' } = record;
    const alarm = textOf(record['alarm']);
    const key = `${alarm} ${textOf(record['subject'])}`;
    switch (kind) {
      case 'settings':
        this.version = textOf(record['version']);
        this.away = undefined;
        this.alarms.clear(); // of the life before
        break;
      case 'stopped':
        this.away = `stopped ${formatTime(at)}`;
        break;
      case 'alarm':
        this.alarms.set(key, { since: at, alarm, because });
        break;
      case 'alarm-over':
        this.alarms.delete(key);
        break;
      case 'drifted':
        this.drifts.set(containerId, record);
        break;
      case 'repaired':
      case 'container-gone':
        this.drifts.delete(containerId);
    }
  }

  /**
   * A later record. An event of the runtime or of the API server proves that cpusetd ran; so does an end. A gap has a
   * beginning.
   */
  private decidesAway({ kind, at, ...record }: JournalRecord): boolean {
    if (kind === 'settings') this.hasStartedLater = true;
    if (this.away !== undefined || kind === 'stopped') return true;
    if (kind === 'input') return record['of'] === 'event' && !this.hasStartedLater;
    if (kind !== 'gap') return false;
    const from = textOf(record['from']);
    // The beginning of a gap is the last sign of life on disk; the records may reach further.
    const began = this.lastAt !== undefined && this.lastAt > from ? this.lastAt : from;
    if (Date.parse(began) <= this.atMs)
      this.away = `not connected to the runtime from ${formatTime(began)} to ${formatTime(at)}`;
    return true;
  }
}

function textOf(fact: unknown): string {
  return typeof fact === 'string' ? fact : '';
}

import { setTimeout as delay } from 'node:timers/promises';

import type { AdminClient } from '../../admin/client/admin-client';
import type { ContainerStatus, IdleAssignment, Observation, Verdict } from '../../admin/model/status';
import { findUse, viewStatus, type Use } from '../../admin/machine/machine-view';
import { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import type { CpuInfo } from '../../core/topology';
import { machineOf } from '../../core/topology';
import { busyBetween, readCpuTimes, readTaskSamples, readUptimeTicks } from '../../host';
import { findRecords, JournalError, type JournalRecord } from '../../state/journal';
import { whyTasksAreHidden } from '../audit/require-all-tasks';
import { judgeRuns, type Reading, type Runner } from './judge-runs';

/** Time over which it is seen who runs there, in ms, and the number of readings after the first. */
const LOOK_MS = 1_000;
const STEPS = 5;
/** Most records of the journal, the latest. */
const MAX_RECORDS = 10;

/** All that is known of one CPU. */
export interface CpuReport {
  readonly cpu: number;
  readonly nodeName?: string;
  readonly use: Use;
  /** Absent for one that is not online. */
  readonly place?: Omit<CpuInfo, 'id'>;
  /** The other CPUs of its core. */
  readonly siblings: CpuSet;
  /** The containers that have it for themselves; of one pod where there are several. */
  readonly owners: readonly CpuOwner[];
  readonly idle: readonly Pick<IdleAssignment, 'namespace' | 'pod' | 'container' | 'cpus' | 'because' | 'since'>[];
  readonly now: RunsNow;
  /** Records of the journal about it, the latest last. */
  readonly history: readonly JournalRecord[];
  /** The reason for which there is no history. */
  readonly noHistory?: string;
}

export interface CpuOwner extends Pick<
  ContainerStatus,
  'namespace' | 'pod' | 'container' | 'because' | 'since' | 'drift'
> {
  readonly containerId: string;
  readonly promised: CpuSet;
  readonly observation?: Observation;
  readonly verdict: Verdict;
}

/** The threads that run there now; `because` where nobody can be seen. */
export type RunsNow =
  | {
      readonly seen: true;
      readonly seconds: number;
      readonly busyPercent?: number;
      readonly runners: readonly (Runner & { readonly who: string; readonly isOwner: boolean })[];
    }
  | { readonly seen: false; readonly because: string };

/** Asks the daemon, the kernel and the journal about a CPU. Throws NOT_FOUND when the machine has no such CPU. */
export async function lookAtCpu(
  client: AdminClient,
  cpu: number,
  { journal, signal }: { readonly journal: string; readonly signal: AbortSignal },
): Promise<CpuReport> {
  const [topologyStatus, status] = [await client.topology(), await client.status()];
  const { topology, offline, node } = topologyStatus;
  const machine = machineOf(topology);
  if (!machine.online.has(cpu) && !offline.has(cpu))
    throw new CpusetdError(
      'NOT_FOUND',
      `CPU ${cpu}: this machine has no such CPU; it has ${machine.online.union(offline).toString()}`,
    );
  const view = viewStatus(topologyStatus);
  const place = machine.cpus.find(({ id }) => id === cpu);
  const siblings = place
    ? CpuSet.of(machine.cpus.filter(({ core, id }) => core === place.core && id !== cpu).map(({ id }) => id))
    : CpuSet.empty;
  const assigned = new Set(
    topologyStatus.assignments
      .filter(({ cpus, containerId }) => cpus.has(cpu) && containerId !== '')
      .map(({ containerId }) => containerId),
  );
  const owners = status.containers.filter(({ id }) => assigned.has(id));
  const names = new Map(
    status.containers.map((container) => [
      container.id,
      `${container.namespace}/${container.pod} ${container.container}`,
    ]),
  );
  const [now, history] = [await seeRuns(cpu, names, assigned, signal), await readLast(journal, cpu, signal)];
  return {
    cpu,
    ...(node.nodeName !== undefined && { nodeName: node.nodeName }),
    use: findUse(view, cpu).use,
    ...(place && { place: omitId(place) }),
    siblings,
    owners: owners.map(toOwner),
    idle: status.idle.filter(({ cpus }) => cpus.has(cpu)),
    now,
    ...history,
  };
}

function omitId({ id: _id, ...place }: CpuInfo): Omit<CpuInfo, 'id'> {
  return place;
}

function toOwner({
  id,
  namespace,
  pod,
  container,
  because,
  since,
  promise,
  observation,
  verdict,
  drift,
}: ContainerStatus): CpuOwner {
  return {
    namespace,
    pod,
    container,
    containerId: id,
    because,
    since,
    verdict,
    promised: promise?.cpus ?? CpuSet.empty,
    ...(observation && { observation }),
    ...(drift && { drift }),
  };
}

async function seeRuns(
  cpu: number,
  names: ReadonlyMap<string, string>,
  owners: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RunsNow> {
  const hidden = whyTasksAreHidden();
  if (hidden !== undefined) return { seen: false, because: hidden };
  const within = CpuSet.of([cpu]);
  const timesBefore = readCpuTimes();
  const began = performance.now();
  const readings: Reading[] = [];
  let pids: readonly number[] | undefined;
  for (let step = 0; step <= STEPS && !signal.aborted; step++) {
    if (step > 0) await delay(LOOK_MS / STEPS, undefined, { signal }).catch(() => undefined);
    const atTicks = readUptimeTicks();
    // Programs that start meanwhile are found by the last reading.
    const tasks = await readTaskSamples({ within, ...(pids && step < STEPS && { pids }) });
    pids ??= [...new Set(tasks.map(({ pid }) => pid))];
    readings.push({ atTicks, tasks: tasks.filter(({ pid }) => pid !== process.pid) });
  }
  const busy = busyBetween(timesBefore, readCpuTimes()).get(cpu);
  const runners = judgeRuns(cpu, readings, (id) => names.has(id));
  return {
    seen: true,
    seconds: Math.round((performance.now() - began) / 100) / 10,
    ...(busy !== undefined && { busyPercent: Math.round(busy * 1000) / 10 }),
    runners: runners.map((runner) => ({
      ...runner,
      who: runner.containerId === undefined ? `${runner.name} (pid ${runner.pid})` : names.get(runner.containerId)!,
      isOwner: runner.containerId !== undefined && owners.has(runner.containerId),
    })),
  };
}

async function readLast(
  dir: string,
  cpu: number,
  signal: AbortSignal,
): Promise<Pick<CpuReport, 'history' | 'noHistory'>> {
  try {
    const { records } = await findRecords(dir, { cpus: CpuSet.of([cpu]) }, { most: MAX_RECORDS, signal });
    return { history: records };
  } catch (error) {
    if (error instanceof JournalError) return { history: [], noHistory: error.message };
    throw error;
  }
}

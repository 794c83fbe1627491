import { keepSteady } from '../../admin/model/exclusive-owners';
import type { Status } from '../../admin/model/status';
import type { ExclusiveOwner } from '../../core/audit/sample';
import { AuditTally, type AuditMemory } from '../../core/audit/tally-audit';
import { CpuSet } from '../../core/cpuset';
import {
  findProcesses,
  openCgroups,
  readUptimeTicks,
  TimeSlices,
  visitTasks,
  type CgroupPlace,
  type Cgroups,
} from '../../host';
import { UsageReader } from '../../host/usage';
import type { ContainerLabels } from '../../qos/usage/metrics';
import type { UsageSample } from '../../qos/usage/sample';
import { deriveSetUsage } from '../../qos/usage/set-usage';
import { listExclusive, listOwned, type OwnedContainer, type Top, type TopFigures } from './top';

export interface MeterOptions {
  readonly cgroupRoot: string;
  readonly procRoot?: string;
  readonly sysfsRoot?: string;
}

/** The longest time without a turn for others, in ms. */
const SLICE_MS = 20;

interface Reading {
  readonly owned: readonly OwnedContainer[];
  readonly exclusive: readonly ExclusiveOwner[];
  readonly sample: UsageSample;
  readonly tasks: AuditMemory;
}

/**
 * Reads the kernel's counters of containers, and compares each reading with the one before: the cgroups have use, wait
 * and throttling, the threads who else ran on their CPUs. These are the readers of the daemon's usage and audit, so the
 * figures mean the same.
 */
export class TopMeter {
  private readonly cgroups: Cgroups;
  private readonly usage: UsageReader;
  private readonly procRoot: string;
  private places: ReadonlyMap<string, CgroupPlace> = new Map();
  private before: Reading | undefined;

  /** Throws CgroupError when there are no cpusets. */
  constructor({ cgroupRoot, procRoot = '/proc', sysfsRoot = '/sys' }: MeterOptions) {
    this.cgroups = openCgroups({ cgroupRoot, procRoot });
    this.usage = new UsageReader({ cgroupRoot, procRoot, sysfsRoot });
    this.procRoot = procRoot;
  }

  /**
   * Makes a reading of the containers of this status. A container that came, or got other CPUs, since the reading
   * before has no figures yet. Throws the system's error when /proc can't be read.
   */
  async read(status: Status): Promise<Top> {
    const slices = new TimeSlices(SLICE_MS);
    const { before, procRoot } = this;
    const owned = listOwned(status);
    const exclusive = listExclusive(status);
    await this.locate(owned, slices);
    const tally = new AuditTally(
      before ? keepSteady(before.exclusive, exclusive) : [],
      readUptimeTicks(procRoot),
      before?.tasks,
    );
    const within = CpuSet.unionOf(exclusive.map(({ cpus }) => cpus));
    if (!within.isEmpty)
      await visitTasks({ within, procRoot }, slices, (task) => {
        if (task.pid !== process.pid) tally.add(task); // this process looks everywhere, and is gone after that
      });
    const containers = owned.flatMap(({ containerId: id }) => {
      const place = this.places.get(id);
      return place ? [{ id, cgroupPath: place.path, cpuPath: place.cpuPath, hasOwnCpus: true }] : [];
    });
    const { sample } = await this.usage.read({ containers, interfaces: [] }, slices);
    const now = { owned, exclusive, sample, tasks: tally.memory() };
    this.before = now;
    const figures = before ? deriveFigures(before, now, tally) : new Map<string, TopFigures>();
    const { nodeName } = status.node;
    return {
      ...(nodeName !== undefined && { nodeName }),
      at: new Date(sample.atMs).toISOString(),
      ...(before && { seconds: (sample.monotonicNs - before.sample.monotonicNs) / 1e9 }),
      busyMs: slices.busyMs,
      containers: owned.map((container) => ({ ...container, ...figures.get(container.containerId) })),
    };
  }

  /** Finds the cgroups of containers that are new here, by their processes. */
  private async locate(owned: readonly OwnedContainer[], slices: TimeSlices): Promise<void> {
    const ids = owned.map(({ containerId }) => containerId);
    const places = new Map<string, CgroupPlace>();
    for (const id of ids) {
      const place = this.places.get(id);
      if (place) places.set(id, place);
    }
    const missing = new Set(ids.filter((id) => !places.has(id)));
    for (const [id, pid] of await findProcesses(missing, slices, this.procRoot)) {
      const located = this.cgroups.locate({ id, pid, cgroupsPath: '' });
      if (located.kind === 'found') places.set(id, located);
    }
    this.places = places;
  }
}

function deriveFigures(before: Reading, now: Reading, tally: AuditTally): ReadonlyMap<string, TopFigures> {
  const earlier = new Map(before.owned.map(({ containerId, cpus }) => [containerId, cpus]));
  const steady = now.owned.filter(({ containerId, cpus }) => earlier.get(containerId)?.equals(cpus));
  const containers = new Map(
    steady.map(({ containerId, namespace, pod, podUid, container, cpus }) => {
      const labels: ContainerLabels = {
        PodName: pod,
        PodNamespace: namespace,
        PodUid: podUid,
        ContainerName: container,
        ContainerId: containerId,
        HasExtRes: 'false',
      };
      return [containerId, { labels, ownCpus: cpus }];
    }),
  );
  const usage = new Map(
    deriveSetUsage(before.sample, now.sample, { containers }).map((each) => [each.labels.ContainerId, each]),
  );
  const loads = tally.loads();
  return new Map(
    steady.map(({ containerId: id }): [string, TopFigures] => {
      const [own, foreign] = [usage.get(id), loads.get(id)];
      return [
        id,
        {
          ...(own && { usedMilliCpu: own.usedMilliCpu, usedPercent: own.usedPart * 100 }),
          ...(own?.waitMsPerSecond !== undefined && { waitMsPerSecond: own.waitMsPerSecond }),
          ...(own?.throttledPart !== undefined && { throttledPercent: own.throttledPart * 100 }),
          ...(foreign && { foreign }),
        },
      ];
    }),
  );
}

import { posix } from 'node:path';
import type { Logger } from 'pino';
import { CpuSet } from '../../core/cpuset';
import type { NodeModel } from '../../core/model/node-model';
import { hasCgroup } from '../../core/model/container';
import { planChanges, servePending } from '../../core/transition';
import { cgroupPathOf, readOnline, readTopology, type Cgroups, type WriteOutcome } from '../../host';
import { widenPodCgroup } from '../cgroups/pod-cgroup';
import type { Transactor } from '../transaction/transactor';

export interface OnlineCpusParts {
  readonly model: NodeModel;
  readonly transactor: Transactor;
  readonly cgroups: Cgroups;
  /** Whether cgroups are written here. */
  readonly writes: boolean;
  readonly sysfsRoot: string;
  readonly log: Logger;
}

/**
 * Follows CPU hotplug. A CPU that left is out of the pool and of every promise at once; one that is back is in again, with
 * the container that it was assigned to, else with the pool. Assignments are not touched: they say whose it is.
 */
export class OnlineCpus {
  /**
   * What came back at the last look, if that saw a change: the kernel names a CPU online before its caches are described
   * and before cpusets can have it, so one look more is due.
   */
  private unsettled: CpuSet | undefined;

  constructor(private readonly parts: OnlineCpusParts) {}

  /**
   * Compares with the kernel, which costs one small file. Returns whether there is something new to be seen in cgroups.
   * Throws when sysfs can't be read; then everything stays as it is, and the next look tries again.
   */
  check(): boolean {
    const { model, sysfsRoot } = this.parts;
    if (!this.unsettled && readOnline(sysfsRoot).equals(model.topology.online)) return false;
    this.unsettled = this.follow();
    return true;
  }

  /** Returns the CPUs that are back, if anything has changed. */
  private follow(): CpuSet | undefined {
    const { model, transactor, writes, sysfsRoot } = this.parts;
    const before = model.topology.online;
    const topology = readTopology({ sysfsRoot });
    const hasChanged = !topology.online.equals(before);
    const returned = topology.online.minus(before);
    // cgroup version 1 takes a CPU that goes offline out of every cpuset, and never gives it back.
    const missed = returned.union(this.unsettled?.intersect(topology.online) ?? CpuSet.empty);
    if (writes && !missed.isEmpty) this.widenAboveContainers(missed);
    transactor.change((draft) => {
      draft.put({ kind: 'set-topology', topology });
      if (hasChanged)
        draft.note('warn', 'online CPUs changed', {
          online: topology.online.toString(),
          left: before.minus(topology.online).toString(),
          returned: returned.toString(),
        });
      servePending(draft);
      return planChanges(draft);
    });
    // And it moves the processes of a cpuset that it emptied.
    if (writes) this.forEachDir((dir) => this.parts.cgroups.reclaimTasks(dir));
    return hasChanged ? returned : undefined;
  }

  /** Of pods too: a container that is being made has no cgroup yet, but what is above it has. */
  private widenAboveContainers(returned: CpuSet): void {
    const { model, cgroups } = this.parts;
    this.forEachDir((dir) => cgroups.widen(posix.dirname(dir), returned));
    for (const pod of model.pods.values()) this.warnOf(widenPodCgroup(cgroups, pod, returned), { podUid: pod.uid });
  }

  private forEachDir(write: (dir: string) => WriteOutcome): void {
    for (const container of this.parts.model.allContainers.values()) {
      const at = cgroupPathOf(container.cgroupsPath);
      if (at.kind === 'refused' || !hasCgroup(container)) continue;
      this.warnOf(write(at.path), { containerId: container.id });
    }
  }

  private warnOf(outcome: WriteOutcome, facts: object): void {
    if (outcome.kind !== 'refused') return;
    this.parts.log.warn({ ...facts, because: outcome.because }, 'a cgroup did not follow the online CPUs');
  }
}

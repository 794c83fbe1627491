import { CpuSet } from '../../core/cpuset';
import type { Container } from '../../core/model/container';
import { changeTopology } from '../../core/transition';
import { readOnline, readTopology, type WriteOutcome } from '../../host';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';

export interface CpuHotplugParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'cgroups' | 'log'>;
  readonly transactor: Pick<Transactor, 'change'>;
}

/**
 * Follows CPU hotplug. A CPU that left is taken out of the pool and of every promise at once. A CPU that is back is given to the
 * container that it is assigned to, else to the pool. Assignments do not change: they say whose it is.
 */
export class CpuHotplug {
  /**
   * CPUs that came back at the last check, if that saw a change: the kernel names a CPU online before its caches are described
   * and before cpusets can have it, so one more check is due.
   */
  private unsettled: CpuSet | undefined;

  constructor(private readonly parts: CpuHotplugParts) {}

  /**
   * Compares with the kernel, which costs one small file. Returns whether there is something new to be seen in cgroups.
   * Throws when sysfs can't be read; then everything stays as it is, and the next look tries again.
   */
  check(): boolean {
    const { model, config, cgroups } = this.parts.context;
    const { returned } = cgroups;
    if (!this.unsettled && readOnline(config.sysfsRoot).equals(model.topology.online)) {
      returned.look();
      return returned.giveBack(model.topology.online);
    }
    this.unsettled = this.follow();
    return true;
  }

  /** Returns the CPUs that are back, if anything has changed. */
  private follow(): CpuSet | undefined {
    const { transactor, context } = this.parts;
    const { model, cgroups, config } = context;
    const before = model.topology.online;
    const topology = readTopology({ sysfsRoot: config.sysfsRoot });
    const hasChanged = !topology.online.equals(before);
    const returned = topology.online.minus(before);
    const left = before.minus(topology.online);
    // cgroup version 1 takes a CPU that goes offline out of every cpuset, and never gives it back.
    cgroups.returned.noteOffline(left.union(returned));
    cgroups.returned.giveBack(topology.online);
    transactor.change((draft) => {
      if (hasChanged)
        draft.report({
          kind: 'online-cpus-changed',
          online: topology.online,
          left,
          returned,
        });
      return changeTopology(draft, topology);
    });
    // And it moves the processes of a cpuset that it emptied.
    this.forEachContainer((container) => cgroups.reclaimTasks(container));
    return hasChanged ? returned : undefined;
  }

  private forEachContainer(write: (container: Container) => WriteOutcome): void {
    for (const container of this.parts.context.model.allContainers.values())
      this.warnOf(write(container), { containerId: container.id });
  }

  private warnOf(outcome: WriteOutcome, facts: object): void {
    if (outcome.kind !== 'refused') return;
    this.parts.context.log.warn({ ...facts, because: outcome.because }, 'a cgroup did not follow the online CPUs');
  }
}

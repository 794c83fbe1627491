import { CpuSet } from '../../core/cpuset';
import { kubepodsOfParent, type KubeletCgroups } from '../../core/inference/kubepods';
import type { Container } from '../../core/model/container';
import type { NodeEvent, PodInfo } from '../../core/model/events';
import {
  confineTopology,
  describeBarred,
  machineOf,
  barredCpus,
  type CpuBound,
  type Topology,
} from '../../core/topology';
import { changeTopology } from '../../core/transition';
import { readOnline, readTopology, type WriteOutcome } from '../../host';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';
import { listKubepods, narrow, readBoundOf } from './read-bound';

export interface MachineWatchParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'cgroups' | 'alarms' | 'log'>;
  readonly transactor: Pick<Transactor, 'change'>;
  /** The kubelet's configuration, as it was known at the start. */
  readonly kubelet?: KubeletCgroups | undefined;
  /** Monotonic clock. */
  readonly nowMs?: () => number;
}

/** Time after which a cgroup that can't be read is an alarm. It is made anew in less. */
const UNREAD_MS = 10_000;

/**
 * Follows the CPUs that this node may use: those that are online, and that the cgroups of its pods have. A CPU that
 * left is taken out of the pool and of every promise at once. A CPU that is back is given to the container that it is
 * assigned to, else to the pool. Assignments do not change: they say whose it is. While the cgroups can't be read the
 * last that was read counts.
 */
export class MachineWatch {
  /**
   * CPUs that came back at the last check, if that saw a change: the kernel names a CPU online before its caches are
   * described and before cpusets can have it, so one more check is due.
   */
  private unsettled: CpuSet | undefined;
  /** True after the bound was read once. */
  private wasRead: boolean;
  private unread: { readonly because: string; readonly sinceMs: number } | undefined;
  /** Pods that are not in the model yet. */
  private arriving: readonly PodInfo[] = [];
  private roots: readonly string[] = [];

  constructor(private readonly parts: MachineWatchParts) {
    this.wasRead = parts.context.model.topology.confinement !== undefined;
    this.readBound(machineOf(parts.context.model.topology).online);
    this.updateAlarms();
  }

  /**
   * Compares with the kernel, which costs some small files. Returns whether there is something new to be seen in
   * cgroups. Throws when sysfs can't be read; then everything stays as it is, and the next look tries again.
   */
  check(): boolean {
    const { model, config, cgroups } = this.parts.context;
    const online = readOnline(config.sysfsRoot);
    const { topology } = model;
    const isQuiet = !this.unsettled && online.equals(machineOf(topology).online);
    if (isQuiet) cgroups.returned.look();
    const isGivenBack = isQuiet && cgroups.returned.giveBack(online);
    const hasChanged = !online.equals(machineOf(topology).online) || !isSame(this.readBound(online), topology);
    if (!this.unsettled && !hasChanged) {
      this.updateAlarms(); // what is different for one check may be a CPU that is coming or going
      return isGivenBack;
    }
    this.unsettled = this.follow();
    return true;
  }

  /** Looks at the cgroups of pods that were not known to be there, before anything is decided on these events. */
  meet(events: readonly NodeEvent[]): void {
    const arriving = events.flatMap((event) => {
      if (event.kind === 'synchronize') return event.pods;
      return event.kind === 'pod-started' ? [event.pod] : [];
    });
    const isKnown = ({ cgroupParent, uid }: PodInfo): boolean => {
      const kubepods = kubepodsOfParent(cgroupParent, uid);
      return kubepods === undefined || this.roots.includes(kubepods.root);
    };
    if (arriving.every(isKnown)) return;
    this.arriving = arriving;
    try {
      this.check();
    } finally {
      this.arriving = [];
    }
  }

  /** Returns the CPUs that are back, if anything has changed. */
  private follow(): CpuSet | undefined {
    const { transactor, context } = this.parts;
    const { model, cgroups, config } = context;
    const before = model.topology;
    const machine = readTopology({ sysfsRoot: config.sysfsRoot });
    const cameOnline = machine.online.minus(machineOf(before).online);
    // cgroup version 1 takes a CPU that goes offline out of every cpuset, and never gives it back: pods can have it
    // only after that.
    cgroups.returned.noteOffline(machineOf(before).online.minus(machine.online).union(cameOnline));
    cgroups.returned.giveBack(machine.online);
    const topology = confineTopology(machine, this.readBound(machine.online));
    const returned = topology.online.minus(before.online);
    // There the cgroups of pods do not follow theirs either, when that has CPUs again.
    cgroups.returned.noteAdmitted(returned.minus(cameOnline));
    cgroups.returned.giveBack(machine.online);
    transactor.change((draft) => {
      if (!machine.online.equals(machineOf(before).online))
        draft.report({
          kind: 'online-cpus-changed',
          online: machine.online,
          left: machineOf(before).online.minus(machine.online),
          returned: cameOnline,
        });
      if (!isSame(topology.confinement?.bound, before)) draft.report(describeBound(topology, before));
      return changeTopology(draft, topology);
    });
    // And it moves the processes of a cpuset that it emptied.
    this.forEachContainer((container) => cgroups.reclaimTasks(container));
    const hasChanged = !topology.online.equals(before.online) || !machine.online.equals(machineOf(before).online);
    return hasChanged ? returned.union(cameOnline) : undefined;
  }

  /**
   * Returns the bound as it is. Where a cgroup can't be read, its part of the last one counts, and what the others lack
   * too.
   */
  private readBound(online: CpuSet): CpuBound | undefined {
    const { context, kubelet, nowMs = () => performance.now() } = this.parts;
    const { model, cgroups } = context;
    const kubepods = listKubepods([...model.pods.values(), ...this.arriving], kubelet);
    this.roots = kubepods.map(({ root }) => root);
    const judged = readBoundOf(cgroups.files, kubepods, online);
    if (judged.ok) {
      this.wasRead = true;
      this.unread = undefined;
      return judged.bound;
    }
    this.unread = { because: judged.because, sinceMs: this.unread?.sinceMs ?? nowMs() };
    return narrow(model.topology.confinement?.bound, judged.bound, online);
  }

  private updateAlarms(): void {
    const { context, nowMs = () => performance.now() } = this.parts;
    const { model, alarms } = context;
    const { topology, settings } = model;
    const { unread, wasRead } = this;
    const isLong = unread !== undefined && (!wasRead || nowMs() - unread.sinceMs >= UNREAD_MS);
    const assumed = wasRead ? 'what was read last is in force' : 'all online CPUs are taken for usable';
    alarms.update(
      'cpu-bound-unread',
      '',
      isLong ? `the CPUs that the cgroups of pods have are not known, and ${assumed}: ${unread.because}` : undefined,
    );
    // Reserved CPUs are given to nobody anyway: a node may keep its pods off them.
    const lost = barredCpus(topology).minus(settings.reserved);
    alarms.update(
      'cpus-barred',
      '',
      lost.isEmpty ? undefined : `${describeBarred(topology.confinement!, lost)}: nothing is given out of them`,
    );
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

function isSame(bound: CpuBound | undefined, { confinement }: Topology): boolean {
  const before = confinement?.bound;
  if (!bound || !before) return bound === before;
  return bound.cgroup === before.cgroup && bound.cpus.equals(before.cpus);
}

function describeBound(topology: Topology, before: Topology) {
  const barred = barredCpus(topology);
  return {
    kind: 'cpu-bound-changed',
    usable: topology.online,
    left: before.online.minus(topology.online),
    returned: topology.online.minus(before.online),
    because: barred.isEmpty
      ? 'the cgroups of pods have all online CPUs'
      : describeBarred(topology.confinement!, barred),
  } as const;
}

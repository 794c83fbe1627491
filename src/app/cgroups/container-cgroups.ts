import { posix } from 'node:path';
import type { Logger } from 'pino';
import type { CpuSet } from '../../core/cpuset';
import type { Container } from '../../core/model/container';
import type { PodInfo } from '../../core/model/events';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import { hasCgroup } from '../../core/model/container';
import { type Move } from '../../core/plan/plan-moves';
import type { QuotaStep } from '../../core/plan/plan-quotas';
import { cgroupPathOf, cgroupPathOfParent, type Cgroups, type WriteOutcome } from '../../host';
import type { MoveFailure, Mover } from '../transaction/carry-out';

export interface ContainerCgroupsParts {
  readonly cgroups: Cgroups;
  /** False where the runtime has to be asked instead. */
  readonly canWrite: boolean;
  readonly model: NodeView;
  readonly log: Logger;
}

const NOTHING_DONE: WriteOutcome = { kind: 'ok', changed: false };

/**
 * Writes the cgroups of containers and of their pods. A path that is none of a cgroup is never written. Where cgroups are not written
 * here, `move` says so and everything else does nothing.
 */
export class ContainerCgroups implements Mover {
  /** The reason why a quota could not be written, and the container, by cgroup. */
  private readonly refusedQuotas = new Map<string, { readonly because: string; readonly containerId: string }>();

  constructor(private readonly parts: ContainerCgroupsParts) {}

  get canWrite(): boolean {
    return this.parts.canWrite;
  }

  /** The files themselves, for reading. */
  get files(): Cgroups {
    return this.parts.cgroups;
  }

  /** Writes the cpuset files of a container, and quotas where they are promised: tens of microseconds, where the runtime takes about 9 ms. */
  move({ cgroupsPath, to, podQuota }: Move): MoveFailure | undefined {
    const { cgroups, canWrite } = this.parts;
    if (!canWrite) return { kind: 'off', because: 'cgroup-writes is off' };
    const at = cgroupPathOf(cgroupsPath);
    if (at.kind === 'refused') return { kind: 'refused', because: at.because };
    const outcome = cgroups.writeCpuset(at.path, { cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) });
    switch (outcome.kind) {
      case 'ok':
        return this.writePromisedQuotas(at.path, to, podQuota);
      case 'gone':
        return { kind: 'gone', because: 'its cgroup is gone' };
      case 'refused':
        return { kind: 'refused', because: outcome.because };
    }
  }

  /** A pod's quota that the kernel refuses fails the move: the pod's containers would run without any. */
  private writePromisedQuotas(
    path: string,
    { quota }: Move['to'],
    podQuota: Move['podQuota'],
  ): MoveFailure | undefined {
    const { cgroups } = this.parts;
    const podDir = podQuota && podCgroupOf(path, podQuota.podUid);
    const outcomes = [
      quota && cgroups.writeQuota(path, quota),
      podDir === undefined ? undefined : cgroups.writeQuota(podDir, podQuota!.quota),
    ];
    const refused = outcomes.find((outcome) => outcome?.kind === 'refused');
    return refused && { kind: 'refused', because: refused.because };
  }

  /**
   * Writes the CFS quota of a container or of its pod, which neither NRI nor CRI reaches, and returns whether anything was written. Every
   * round asks again for what is still missing: a refusal is logged once, until its reason changes or the quota could be written.
   */
  writeQuota({ containerId, cgroupsPath, podUid, of, to }: QuotaStep): boolean {
    const { model, cgroups, canWrite, log } = this.parts;
    if (!canWrite) return false;
    const at = cgroupPathOf(cgroupsPath);
    const dir = at.kind === 'refused' ? undefined : of === 'pod' ? podCgroupOf(at.path, podUid) : at.path;
    if (dir === undefined) return false;
    const outcome = cgroups.writeQuota(dir, to);
    const container = model.allContainers.get(containerId);
    const facts = { ...(container ? namesIn(model, container) : { containerId, podUid }), of, quotaUs: to.quotaUs };
    if (outcome.kind === 'refused') {
      const { because } = outcome;
      const isNews = this.refusedQuotas.get(dir)?.because !== because;
      this.refusedQuotas.set(dir, { because, containerId });
      log[isNews ? 'warn' : 'debug']({ ...facts, because }, 'quota not written');
      return false;
    }
    const wasRefused = this.refusedQuotas.delete(dir);
    if (outcome.kind === 'gone') return false;
    if (outcome.changed || wasRefused) log.info(facts, to.quotaUs < 0 ? 'quota lifted' : 'quota set again');
    return outcome.changed;
  }

  /** Forgets refusals that were met for containers which are gone. */
  keepOnly(containers: { has(containerId: string): boolean }): void {
    for (const [dir, { containerId }] of this.refusedQuotas)
      if (!containers.has(containerId)) this.refusedQuotas.delete(dir);
  }

  /** Adds every CPU of the node to the cgroups above a pod's containers, and logs it when that was needed. */
  widenPod(pod: PodInfo): void {
    const { model, log } = this.parts;
    const outcome = this.widenAbovePod(pod, model.topology.online);
    const facts = { podUid: pod.uid, pod: `${pod.namespace}/${pod.name}` };
    if (outcome.kind === 'ok' && outcome.changed)
      log.info(facts, 'cgroups above a pod lacked CPUs that had been offline; they have them again');
    if (outcome.kind === 'refused')
      log.warn({ ...facts, because: outcome.because }, 'cgroups above a pod could not be given all CPUs');
  }

  /**
   * Adds these CPUs to the cgroups above this pod's containers; see Cgroups.widen. Version 1 needs that before a container can start on a
   * CPU that was offline, even when it was offline long before the pod: the cgroup of its QoS class lacks the CPU.
   */
  widenAbovePod({ cgroupParent }: Pick<PodInfo, 'cgroupParent'>, cpus: CpuSet): WriteOutcome {
    const { cgroups, canWrite } = this.parts;
    if (!canWrite || cgroups.version === 2 || cgroupParent === '') return NOTHING_DONE;
    const at = cgroupPathOfParent(cgroupParent);
    if (at.kind === 'refused') return { kind: 'refused', errno: 'EINVAL', because: at.because };
    return cgroups.widen(at.path, cpus);
  }

  /** Adds these CPUs to the cgroups above a container; see Cgroups.widen. */
  widenAbove(container: Container, cpus: CpuSet): WriteOutcome {
    const dir = this.findWritable(container);
    return dir === undefined ? NOTHING_DONE : this.parts.cgroups.widen(posix.dirname(dir), cpus);
  }

  /** Brings processes back that the kernel moved to the parent; see Cgroups.reclaimTasks. */
  reclaimTasks(container: Container): WriteOutcome {
    const dir = this.findWritable(container);
    return dir === undefined ? NOTHING_DONE : this.parts.cgroups.reclaimTasks(dir);
  }

  private findWritable(container: Container): string | undefined {
    if (!this.parts.canWrite || !hasCgroup(container)) return undefined;
    const at = cgroupPathOf(container.cgroupsPath);
    return at.kind === 'refused' ? undefined : at.path;
  }

  /** CPUs where processes of the parent cgroup may run; undefined where that could not be read. */
  parentCpus(cgroupsPath: string): CpuSet | undefined {
    const at = cgroupPathOf(cgroupsPath);
    if (at.kind === 'refused') return undefined;
    const reading = this.parts.cgroups.readCpus(posix.dirname(at.path));
    return reading.kind === 'found' ? reading.effectiveCpus : undefined;
  }
}

/**
 * The pod's cgroup, which is the parent of the container's: `.../pod<uid>`, or `...-pod<uid>.slice` under systemd, where
 * the dashes of the uid are underscores. Undefined where the parent is something else, which then is not the pod's
 * alone.
 */
export function podCgroupOf(containerDir: string, podUid: string): string | undefined {
  const parent = posix.dirname(containerDir);
  const name = posix.basename(parent);
  const isPods = name === `pod${podUid}` || name.endsWith(`-pod${podUid.replaceAll('-', '_')}.slice`);
  return isPods && podUid !== '' ? parent : undefined;
}

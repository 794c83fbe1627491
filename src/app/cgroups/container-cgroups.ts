import { posix } from 'node:path';
import type { Logger } from 'pino';
import type { CpuSet } from '../../core/cpuset';
import { machineOf } from '../../core/topology';
import type { Container } from '../../core/model/container';
import type { PodInfo } from '../../core/model/events';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import { hasCgroup } from '../../core/model/container';
import { type Move } from '../../core/plan/plan-moves';
import type { QuotaStep } from '../../core/verdict/plan-quotas';
import { isLost } from '../../core/verdict/observation';
import { type CgroupPlace, type Cgroups, type ContainerToLocate, type WriteOutcome } from '../../host';
import type { MoveFailure, Mover } from '../transaction/carry-out';
import { ContainerFinder } from './container-finder';
import { ReturnedCpus, type ReturnedCpusParts } from './returned-cpus';

export interface ContainerCgroupsParts extends ReturnedCpusParts {
  readonly cgroups: Cgroups;
  /** False where the runtime has to be asked instead. */
  readonly canWrite: boolean;
  readonly model: NodeView;
  readonly log: Logger;
}

const DRIVERS_DIFFER = 'they seem to use different cgroup drivers; containers are pinned all the same';

type MoveOutcome =
  { readonly kind: 'ok'; readonly failure: MoveFailure | undefined } | Exclude<WriteOutcome, { readonly kind: 'ok' }>;

const NOTHING_DONE: WriteOutcome = { kind: 'ok', changed: false };

/**
 * Writes the cgroups of containers and of their pods. A path that is none of a cgroup is never written. Where cgroups
 * are not written here, `move` says so and everything else does nothing.
 */
export class ContainerCgroups implements Mover {
  /** The reason why a quota could not be written, and the container, by cgroup. */
  private readonly refusedQuotas = new Map<string, { readonly because: string; readonly containerId: string }>();

  /** Knows where the cgroup of each container is. */
  readonly finder: ContainerFinder;
  /** Gives CPUs back that were offline. */
  readonly returned: ReturnedCpus;

  constructor(private readonly parts: ContainerCgroupsParts) {
    const { cgroups, log } = parts;
    this.returned = new ReturnedCpus(parts);
    this.finder = new ContainerFinder({
      cgroups,
      onElsewhere: ({ id }, paths) =>
        log.warn(
          { containerId: id, ...paths, because: DRIVERS_DIFFER },
          'the runtime makes cgroups elsewhere than the kubelet says',
        ),
    });
  }

  get canWrite(): boolean {
    return this.parts.canWrite;
  }

  /** The files themselves, for reading. */
  get files(): Cgroups {
    return this.parts.cgroups;
  }

  /**
   * Writes the cpuset files of a container, and quotas where they are promised: tens of microseconds, where the runtime
   * takes about 9 ms.
   */
  move({ containerId, cgroupsPath, to, podQuota }: Move): MoveFailure | undefined {
    const { cgroups, canWrite } = this.parts;
    if (!canWrite) return { kind: 'off', because: 'cgroup-writes is off' };
    const change = { cpus: to.cpus, ...(!to.mems.isEmpty && { mems: to.mems }) };
    const outcome = this.finder.withCgroup(
      this.describe(containerId, cgroupsPath),
      (place): MoveOutcome => {
        const written = cgroups.writeCpuset(place.path, change);
        return written.kind === 'ok' ? { kind: 'ok', failure: this.writePromisedQuotas(place, to, podQuota) } : written;
      },
      { unverified: true },
    );
    this.returned.saveSoon();
    switch (outcome.kind) {
      case 'ok':
        return outcome.failure;
      // A container that runs without a cgroup in sight can be moved by the runtime only.
      case 'gone':
        return { kind: isLost(outcome.missing) ? 'refused' : 'gone', because: outcome.missing.because };
      case 'refused':
        return { kind: 'refused', because: outcome.because };
    }
  }

  /** Returns the container of this id and path; the path alone where the model has another or none. */
  private describe(id: string, cgroupsPath: string): ContainerToLocate {
    const known = this.parts.model.allContainers.get(id);
    return known?.cgroupsPath === cgroupsPath ? known : { id, cgroupsPath };
  }

  /** A pod's quota that the kernel refuses fails the move: the pod's containers would run without any. */
  private writePromisedQuotas(
    { path, cpuPath }: CgroupPlace,
    { quota }: Move['to'],
    podQuota: Move['podQuota'],
  ): MoveFailure | undefined {
    const { cgroups } = this.parts;
    const podDir = podQuota && podCgroupOf(path, podQuota.podUid);
    const outcomes = [
      quota && cgroups.writeQuota(cpuPath, quota),
      podDir === undefined ? undefined : cgroups.writeQuota(podDir, podQuota!.quota),
    ];
    const refused = outcomes.find((outcome) => outcome?.kind === 'refused');
    return refused && { kind: 'refused', because: refused.because };
  }

  /**
   * Writes the CFS quota of a container or of its pod, which neither NRI nor CRI reaches, and returns whether anything
   * was written. Every round asks again for what is still missing: a refusal is logged once, until its reason changes
   * or the quota could be written.
   */
  writeQuota({ containerId, cgroupsPath, podUid, scope, to }: QuotaStep): boolean {
    const { model, cgroups, canWrite, log } = this.parts;
    if (!canWrite) return false;
    let dir = '';
    const outcome = this.finder.withCgroup(
      this.describe(containerId, cgroupsPath),
      ({ path, cpuPath }): WriteOutcome => {
        const found = scope === 'pod' ? podCgroupOf(path, podUid) : cpuPath;
        if (found === undefined) return NOTHING_DONE;
        dir = found;
        return cgroups.writeQuota(dir, to);
      },
      { unverified: true },
    );
    if (dir === '') return false;
    const container = model.allContainers.get(containerId);
    const facts = {
      ...(container ? namesIn(model, container) : { containerId, podUid }),
      of: scope,
      quotaUs: to.quotaUs,
    };
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
    this.finder.keepOnly(containers);
    this.returned.round();
  }

  /** Lets the cgroups above a pod's containers have CPUs again that had been offline. */
  widenPod(pod: PodInfo): void {
    this.returned.giveBackFor(pod, machineOf(this.parts.model.topology).online);
  }

  /** Brings processes back that the kernel moved to the parent; see Cgroups.reclaimTasks. */
  reclaimTasks(container: Container): WriteOutcome {
    const place = this.findWritable(container);
    return place === undefined ? NOTHING_DONE : this.parts.cgroups.reclaimTasks(place);
  }

  private findWritable(container: Container): CgroupPlace | undefined {
    if (!this.parts.canWrite || !hasCgroup(container)) return undefined;
    const found = this.finder.find(container);
    return found.kind === 'found' ? found : undefined;
  }

  /** True when systemd knows the container as a unit, and may write its values. */
  isUnit(container: ContainerToLocate): boolean {
    const found = this.finder.find(container);
    return found.kind === 'found' && found.path.endsWith('.scope');
  }

  /** CPUs where processes of the parent cgroup may run; undefined where that could not be read. */
  parentCpus(container: ContainerToLocate): CpuSet | undefined {
    const found = this.finder.find(container);
    if (found.kind !== 'found') return undefined;
    const reading = this.parts.cgroups.readCpus(posix.dirname(found.path));
    return reading.kind === 'found' ? reading.effectiveCpus : undefined;
  }
}

/**
 * The pod's cgroup, which is the parent of the container's: `.../pod<uid>`, or `...-pod<uid>.slice` under systemd,
 * where the dashes of the uid are underscores. Undefined where the parent is something else, which then is not the
 * pod's alone.
 */
export function podCgroupOf(containerDir: string, podUid: string): string | undefined {
  const parent = posix.dirname(containerDir);
  const name = posix.basename(parent);
  const isPods = name === `pod${podUid}` || name.endsWith(`-pod${podUid.replaceAll('-', '_')}.slice`);
  return isPods && podUid !== '' ? parent : undefined;
}

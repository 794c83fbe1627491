import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import type { Logger } from 'pino';
import { CpuSet } from '../../core/cpuset';
import { kubepodsOfKubelet, kubepodsOfParent, type KubeletCgroups, type Kubepods } from '../../core/inference/kubepods';
import type { PodInfo } from '../../core/model/events';
import type { Cgroups } from '../../host';
import type { TakenCpus } from '../../state';
import { messageOf } from '../alarms/faults';
import type { OwedNote } from '../owed-effects/owed-note';

export interface ReturnedCpusParts {
  readonly cgroups: Pick<Cgroups, 'version' | 'widen' | 'readCpus' | 'readActive' | 'inner'>;
  /** False where cgroups are not written: nothing is given back then. */
  readonly canWrite: boolean;
  /**
   * The part of the kubelet's configuration that says where its pods are; pods say it by their parents later. Absent =
   * not known.
   */
  readonly kubelet?: KubeletCgroups;
  /** Absent = nothing outlives the process. */
  readonly takenCpus?: { readonly note: OwedNote<TakenCpus>; readonly bootId: string };
  readonly log: Logger;
}

/** Most cgroups of all pods that are known: a node has one, or one for each kubelet that runs in it. */
const MAX_ROOTS = 16;

/**
 * Gives CPUs that were offline back to the cgroups of Kubernetes. Version 1 takes a CPU that goes offline out of every
 * cpuset, and returns it to none but the first. Only CPUs that were seen to be offline are given, only to what the
 * kubelet made, and only as far as the cgroup above has them: what such a cgroup lacks for another reason was taken
 * from it on purpose.
 */
export class ReturnedCpus {
  private owed = CpuSet.empty;
  private readonly roots = new Map<string, Kubepods>();
  /** Online CPUs that a root lacked when nothing was owed: somebody narrowed it. */
  private readonly narrowed = new Map<string, CpuSet>();
  /** The reason why a root could not be widened. */
  private readonly refused = new Map<string, string>();
  private savedRevision = 0;
  private saveProblem: string | undefined;
  private isSaving = false;
  private isLoaded = false;

  constructor(private readonly parts: ReturnedCpusParts) {
    for (const kubepods of kubepodsOfKubelet(parts.kubelet ?? {})) this.roots.set(kubepods.root, kubepods);
    if (!this.isOn) return;
    this.load();
    this.look();
  }

  /** Notes CPUs that are offline, or were until now. */
  noteOffline(cpus: CpuSet): void {
    const lost = cpus.minus(this.narrowedEverywhere());
    if (!this.isOn || lost.isSubsetOf(this.owed)) return;
    this.owed = this.owed.union(lost);
    this.save();
  }

  /** Notes CPUs that the cgroup of all pods lacked, and was seen to get again: the cgroups of pods get them too. */
  noteAdmitted(cpus: CpuSet): void {
    if (!this.isOn || cpus.isEmpty) return;
    for (const [root, narrowed] of this.narrowed) this.narrowed.set(root, narrowed.minus(cpus));
    this.noteOffline(cpus);
  }

  /** Looks at what the cgroups of all pods have while all is quiet. Costs one or two small files for each. */
  look(): void {
    if (!this.isOn) return;
    const { cgroups } = this.parts;
    for (const root of this.roots.keys()) {
      const reading = cgroups.readCpus(root);
      // The root of the hierarchy last: hotplug changes it first.
      const active = reading.kind === 'found' ? cgroups.readActive() : undefined;
      if (reading.kind !== 'found' || !active) continue;
      const before = this.narrowed.get(root) ?? CpuSet.empty;
      const lacking = active.minus(reading.cpus).minus(this.owed);
      this.narrowed.set(root, before.minus(active).union(lacking)); // what is offline is not there to be seen
    }
  }

  /** Gives what is owed and online to the cgroups of all pods. Returns whether any cgroup was changed. */
  giveBack(online: CpuSet): boolean {
    return this.isOn && this.owed.overlaps(online) && this.give(online);
  }

  /** The same before a container of this pod is made or moved. */
  giveBackFor(pod: Pick<PodInfo, 'cgroupParent' | 'uid'>, online: CpuSet): void {
    if (!this.isOn) return;
    const kubepods = kubepodsOfParent(pod.cgroupParent, pod.uid);
    if (!kubepods) return;
    if (!this.roots.has(kubepods.root) && this.roots.size < MAX_ROOTS) this.roots.set(kubepods.root, kubepods);
    this.giveBack(online);
  }

  /**
   * Keeps what is to be given back for the next process of cpusetd. A failure is logged, and tried again in the next
   * round.
   */
  save(): void {
    const { takenCpus, cgroups, log } = this.parts;
    if (!takenCpus || !this.isOn || !this.load()) return;
    const { revision, lists } = cgroups.inner;
    try {
      if (this.owed.isEmpty && lists.length === 0) takenCpus.note.forget();
      else takenCpus.note.save({ bootId: takenCpus.bootId, owed: this.owed, inner: lists });
      this.savedRevision = revision;
      this.saveProblem = undefined;
    } catch (error) {
      const because = messageOf(error);
      if (because !== this.saveProblem) log.warn({ because }, 'CPUs that cgroups have to get back are not remembered');
      this.saveProblem = because;
    }
  }

  /** Saves, soon, what a move took from cgroups inside of a container: after the answer that the runtime waits for. */
  saveSoon(): void {
    if (this.isSaving || this.parts.cgroups.inner.revision === this.savedRevision) return;
    this.isSaving = true;
    setImmediate(() => {
      this.isSaving = false;
      this.round();
    });
  }

  /** Forgets cgroups in containers that are gone, and saves what has changed. Call it in every round. */
  round(): void {
    const { inner } = this.parts.cgroups;
    if (!this.isOn) return;
    if (!inner.isEmpty) inner.keepOnly(existsSync);
    if (inner.revision !== this.savedRevision || this.saveProblem !== undefined) this.save();
  }

  private get isOn(): boolean {
    return this.parts.canWrite && this.parts.cgroups.version === 1;
  }

  /** Takes up what an earlier process left. False while that can't be read: it must not be replaced then. */
  private load(): boolean {
    const { takenCpus, cgroups, log } = this.parts;
    if (!takenCpus || this.isLoaded) return true;
    const left = takenCpus.note.load();
    if (left.kind === 'unknown') {
      if (left.because !== this.saveProblem)
        log.warn({ because: left.because }, 'what cgroups had before is not known; trying again');
      this.saveProblem = left.because;
      return false;
    }
    this.isLoaded = true;
    if (left.kind !== 'known' || left.value.bootId !== takenCpus.bootId) return true;
    this.owed = this.owed.union(left.value.owed);
    for (const list of left.value.inner) cgroups.inner.remember(list);
    this.savedRevision = cgroups.inner.revision;
    return true;
  }

  private narrowedEverywhere(): CpuSet {
    const all = [...this.narrowed.values()];
    return all.length === 0 ? CpuSet.empty : all.reduce((sum, cpus) => sum.intersect(cpus));
  }

  private give(online: CpuSet): boolean {
    let missing = CpuSet.empty;
    let [isAnyThere, isChanged] = [false, false];
    for (const kubepods of this.roots.values()) {
      const due = this.owed.intersect(online).minus(this.narrowed.get(kubepods.root) ?? CpuSet.empty);
      const given = this.giveTo(kubepods, due);
      if (given === undefined) continue;
      isAnyThere = true;
      isChanged ||= given.isChanged;
      missing = missing.union(given.missing);
    }
    const owed = isAnyThere ? this.owed.minus(online.minus(missing)) : this.owed;
    if (owed.equals(this.owed)) return isChanged;
    this.owed = owed;
    this.save();
    return isChanged;
  }

  /** Undefined when there is no such cgroup. */
  private giveTo(
    { root, burstable, besteffort }: Kubepods,
    due: CpuSet,
  ): { readonly missing: CpuSet; readonly isChanged: boolean } | undefined {
    const { cgroups, log } = this.parts;
    const above = cgroups.readCpus(posix.dirname(root));
    if (above.kind !== 'found' || cgroups.readCpus(root).kind !== 'found') return undefined;
    const given = due.intersect(above.cpus);
    if (given.isEmpty) return { missing: due, isChanged: false };
    const outcome = cgroups.widen({ top: root, below: [burstable, besteffort] }, given);
    if (outcome.kind === 'gone') return undefined;
    if (outcome.kind === 'refused') {
      if (this.refused.get(root) !== outcome.because)
        log.warn(
          { cgroup: root, cpus: given.toString(), because: outcome.because },
          'cgroups of pods did not get CPUs back that had been offline',
        );
      this.refused.set(root, outcome.because);
      return { missing: due, isChanged: false };
    }
    this.refused.delete(root);
    if (outcome.changed)
      log.info(
        { cgroup: root, cpus: given.toString() },
        'cgroups of pods lacked CPUs that had been offline; they have them again',
      );
    return { missing: due.minus(given), isChanged: outcome.changed };
  }
}

import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';
import { keyOf, type Assignment, type AssignmentKey } from './assignment';
import { ByPod } from './by-pod';
import type { Container, Pod } from './container';
import { Holdings, type HoldingsView } from './holdings';
import { NO_POD_HOLDINGS, PodHoldings, type PodHoldingsView } from './pod-holdings';
import type { PodSpec } from './pod-spec';
import { PromisedMemory, type BytesByNode } from './promised-memory';
import { SILENT, SpecBook, type SpecSource, type SpecsView } from './spec-book';
import type { Settings } from './settings';

/** One change of the model, as data. Applying a change gives the change that takes it back. */
export type Change =
  | { readonly kind: 'put-assignment'; readonly assignment: Assignment }
  | { readonly kind: 'drop-assignment'; readonly key: AssignmentKey }
  | { readonly kind: 'put-pod'; readonly pod: Pod }
  | { readonly kind: 'drop-pod'; readonly sandboxId: string }
  | { readonly kind: 'put-container'; readonly container: Container }
  | { readonly kind: 'drop-container'; readonly id: string }
  | { readonly kind: 'put-spec'; readonly spec: PodSpec }
  | { readonly kind: 'drop-spec'; readonly uid: string }
  | { readonly kind: 'keep-spec'; readonly spec: PodSpec }
  | { readonly kind: 'unkeep-spec'; readonly uid: string }
  | { readonly kind: 'set-spec-source'; readonly source: SpecSource }
  /** `since`: when it was first told, RFC 3339. */
  | { readonly kind: 'put-unplanned'; readonly uid: string; readonly since: string }
  | { readonly kind: 'drop-unplanned'; readonly uid: string }
  | { readonly kind: 'set-synchronized'; readonly synchronized: boolean }
  | { readonly kind: 'set-topology'; readonly topology: Topology }
  | { readonly kind: 'set-settings'; readonly settings: Settings };

/** What everyone but the owner of the model sees. */
export interface NodeView {
  /** Goes up with every change: what was made of an older one may be out of date. */
  readonly revision: number;
  readonly topology: Topology;
  readonly settings: Settings;
  readonly assignments: ReadonlyMap<AssignmentKey, Assignment>;
  readonly pods: ReadonlyMap<string, Pod>;
  /** Those of pods: what users asked for. */
  readonly containers: ReadonlyMap<string, Container>;
  /** All whose cpusets are kept: `containers`, and the pause containers of their pods by the id of the sandbox. */
  readonly allContainers: ReadonlyMap<string, Container>;
  /** What the API server told last of each pod, by the uid that it has there; empty without one. */
  readonly podSpecs: SpecsView;
  /** Those of them, as far as they decide anything, that a restart must not forget. */
  readonly keptSpecs: SpecsView;
  readonly specSource: SpecSource;
  /** Pods of which containers are still to come and have no CPUs yet, by the uid of the spec: since when. */
  readonly unplanned: ReadonlyMap<string, string>;
  /** Whether the runtime has told of everything it has, once at least: what is missing here is missing there. */
  readonly synchronized: boolean;
  /** Online CPUs that belong to someone alone. */
  readonly exclusive: CpuSet;
  /** Online CPUs of the shared pool that are given to nobody else. */
  readonly held: CpuSet;
  /** Where containers without CPUs of their own run; never empty. */
  readonly sharedPool: CpuSet;
  /** What could be given out now, floors not considered. */
  readonly free: CpuSet;
  /** The CPUs and nodes that all assignments hold together. */
  readonly holdings: HoldingsView;
  /** The CPUs and nodes that the assignments of a pod hold together. */
  holdingsOf(podUid: string): PodHoldingsView;
  /** Containers that wait for CPUs of their own; in no order. */
  readonly waiting: ReadonlySet<string>;
  /** Containers whose pod's annotations ask for another policy, and that could not be switched yet; in no order. */
  readonly unswitched: ReadonlySet<string>;
  /** Memory that is promised to containers of pods, those of `except` left out. */
  promisedMemory(except?: readonly Container[]): BytesByNode;
  assignmentsOf(podUid: string): Assignment[];
  /** The containers of a pod: an event about it looks at those, and not at all of the node. */
  containersOf(podUid: string): Container[];
  /** The sandboxes of a pod, stopped ones included. */
  podsOf(podUid: string): Pod[];
}

/** What cpusetd knows of the node: the machine, the rules, who has which CPUs, and what runs. */
export class NodeModel implements NodeView {
  private readonly assignmentByKey = new Map<AssignmentKey, Assignment>();
  private readonly assignmentsByPod = new ByPod<Assignment>();
  private readonly podById = new Map<string, Pod>();
  private readonly containerById = new Map<string, Container>();
  private readonly allContainerById = new Map<string, Container>();
  private readonly containersByPod = new ByPod<Container>();
  private readonly podsByUid = new ByPod<Pod>();
  private readonly specByUid = new SpecBook();
  private readonly keptSpecByUid = new SpecBook();
  private readonly unplannedSince = new Map<string, string>();
  private readonly waitingIds = new Set<string>();
  private readonly unswitchedIds = new Set<string>();
  private readonly memory = new PromisedMemory();
  readonly holdings = new Holdings();
  private readonly holdingsByPod = new Map<string, PodHoldings>();
  private source = SILENT;
  private wasSynchronized = false;
  private changes = 0;
  private derived: DerivedSets | undefined;

  constructor(
    private currentTopology: Topology,
    private currentSettings: Settings,
  ) {}

  get revision(): number {
    return this.changes;
  }

  get topology(): Topology {
    return this.currentTopology;
  }

  get settings(): Settings {
    return this.currentSettings;
  }

  get assignments(): ReadonlyMap<AssignmentKey, Assignment> {
    return this.assignmentByKey;
  }

  get pods(): ReadonlyMap<string, Pod> {
    return this.podById;
  }

  get containers(): ReadonlyMap<string, Container> {
    return this.containerById;
  }

  get allContainers(): ReadonlyMap<string, Container> {
    return this.allContainerById;
  }

  get podSpecs(): SpecsView {
    return this.specByUid;
  }

  get keptSpecs(): SpecsView {
    return this.keptSpecByUid;
  }

  get specSource(): SpecSource {
    return this.source;
  }

  get unplanned(): ReadonlyMap<string, string> {
    return this.unplannedSince;
  }

  get synchronized(): boolean {
    return this.wasSynchronized;
  }

  get exclusive(): CpuSet {
    return this.derive().exclusive;
  }

  get held(): CpuSet {
    return this.derive().held;
  }

  get sharedPool(): CpuSet {
    return this.derive().sharedPool;
  }

  get free(): CpuSet {
    return this.derive().free;
  }

  get waiting(): ReadonlySet<string> {
    return this.waitingIds;
  }

  get unswitched(): ReadonlySet<string> {
    return this.unswitchedIds;
  }

  holdingsOf(podUid: string): PodHoldingsView {
    return this.holdingsByPod.get(podUid) ?? NO_POD_HOLDINGS;
  }

  promisedMemory(except?: readonly Container[]): BytesByNode {
    return this.memory.without(except);
  }

  assignmentsOf(podUid: string): Assignment[] {
    return this.assignmentsByPod.of(podUid);
  }

  containersOf(podUid: string): Container[] {
    return this.containersByPod.of(podUid);
  }

  podsOf(podUid: string): Pod[] {
    return this.podsByUid.of(podUid);
  }

  /** Carries the change out and returns its inverse. */
  apply(change: Change): Change {
    this.changes++;
    switch (change.kind) {
      case 'put-assignment': {
        const key = keyOf(change.assignment);
        const before = this.assignmentByKey.get(key);
        this.assignmentByKey.set(key, change.assignment);
        this.assignmentsByPod.put(change.assignment.podUid, key, change.assignment);
        if (before) this.removeHolding(before);
        this.addHolding(change.assignment);
        this.derived = undefined;
        return before ? { kind: 'put-assignment', assignment: before } : { kind: 'drop-assignment', key };
      }
      case 'drop-assignment': {
        const before = this.assignmentByKey.get(change.key);
        this.assignmentByKey.delete(change.key);
        if (before) {
          this.assignmentsByPod.drop(before.podUid, change.key);
          this.removeHolding(before);
        }
        this.derived = undefined;
        return before ? { kind: 'put-assignment', assignment: before } : change;
      }
      case 'put-pod': {
        const { pod } = change;
        const before = this.podById.get(pod.sandboxId);
        if (before) this.podsByUid.drop(before.uid, before.sandboxId);
        this.podById.set(pod.sandboxId, pod);
        this.podsByUid.put(pod.uid, pod.sandboxId, pod);
        return before ? { kind: 'put-pod', pod: before } : { kind: 'drop-pod', sandboxId: pod.sandboxId };
      }
      case 'drop-pod': {
        const before = this.podById.get(change.sandboxId);
        this.podById.delete(change.sandboxId);
        if (before) this.podsByUid.drop(before.uid, before.sandboxId);
        return before ? { kind: 'put-pod', pod: before } : change;
      }
      case 'put-container': {
        const { container } = change;
        const before = this.allContainerById.get(container.id);
        if (before && before.podUid !== container.podUid) this.containersByPod.drop(before.podUid, before.id);
        this.allContainerById.set(container.id, container);
        if (before) this.leaveSums(before);
        if (container.pause) this.forgetOfPod(container);
        else {
          this.containerById.set(container.id, container);
          this.containersByPod.put(container.podUid, container.id, container);
          this.joinSums(container);
        }
        return before ? { kind: 'put-container', container: before } : { kind: 'drop-container', id: container.id };
      }
      case 'drop-container': {
        const before = this.allContainerById.get(change.id);
        this.allContainerById.delete(change.id);
        if (before) {
          this.leaveSums(before);
          this.forgetOfPod(before);
        }
        return before ? { kind: 'put-container', container: before } : change;
      }
      case 'put-spec': {
        const { uid } = change.spec;
        const before = this.specByUid.get(uid);
        this.specByUid.set(uid, change.spec);
        return before ? { kind: 'put-spec', spec: before } : { kind: 'drop-spec', uid };
      }
      case 'drop-spec': {
        const before = this.specByUid.get(change.uid);
        this.specByUid.delete(change.uid);
        return before ? { kind: 'put-spec', spec: before } : change;
      }
      case 'keep-spec': {
        const { uid } = change.spec;
        const before = this.keptSpecByUid.get(uid);
        this.keptSpecByUid.set(uid, change.spec);
        return before ? { kind: 'keep-spec', spec: before } : { kind: 'unkeep-spec', uid };
      }
      case 'unkeep-spec': {
        const before = this.keptSpecByUid.get(change.uid);
        this.keptSpecByUid.delete(change.uid);
        return before ? { kind: 'keep-spec', spec: before } : change;
      }
      case 'set-spec-source': {
        const before = this.source;
        this.source = change.source;
        return { kind: 'set-spec-source', source: before };
      }
      case 'put-unplanned':
      case 'drop-unplanned': {
        const { uid } = change;
        const since = this.unplannedSince.get(uid);
        if (change.kind === 'put-unplanned') this.unplannedSince.set(uid, change.since);
        else this.unplannedSince.delete(uid);
        return since === undefined ? { kind: 'drop-unplanned', uid } : { kind: 'put-unplanned', uid, since };
      }
      case 'set-synchronized': {
        const before = this.wasSynchronized;
        this.wasSynchronized = change.synchronized;
        return { kind: 'set-synchronized', synchronized: before };
      }
      case 'set-topology': {
        const before = this.currentTopology;
        this.currentTopology = change.topology;
        this.derived = undefined;
        return { kind: 'set-topology', topology: before };
      }
      case 'set-settings': {
        const before = this.currentSettings;
        this.currentSettings = change.settings;
        this.derived = undefined;
        return { kind: 'set-settings', settings: before };
      }
    }
  }

  private forgetOfPod({ id, podUid }: Container): void {
    this.containerById.delete(id);
    this.containersByPod.drop(podUid, id);
  }

  private addHolding(assignment: Assignment): void {
    this.holdings.add(assignment);
    const ofPod = this.holdingsByPod.get(assignment.podUid) ?? new PodHoldings();
    this.holdingsByPod.set(assignment.podUid, ofPod);
    ofPod.add(assignment);
  }

  private removeHolding(assignment: Assignment): void {
    this.holdings.remove(assignment);
    const ofPod = this.holdingsByPod.get(assignment.podUid)!;
    ofPod.remove(assignment);
    if (ofPod.count === 0) this.holdingsByPod.delete(assignment.podUid);
  }

  private joinSums(container: Container): void {
    const { id, waitsSince, unmetSwitch } = container;
    if (waitsSince !== undefined) this.waitingIds.add(id);
    if (unmetSwitch !== undefined) this.unswitchedIds.add(id);
    this.memory.add(container);
  }

  private leaveSums(container: Container): void {
    if (container.pause) return;
    this.waitingIds.delete(container.id);
    this.unswitchedIds.delete(container.id);
    this.memory.remove(container);
  }

  private derive(): DerivedSets {
    return (this.derived ??= deriveSets(this.currentTopology, this.currentSettings, this.holdings));
  }
}

type DerivedSets = Pick<NodeView, 'exclusive' | 'held' | 'sharedPool' | 'free'>;

function deriveSets(topology: Topology, settings: Settings, { alone, besideShared }: HoldingsView): DerivedSets {
  const exclusive = alone.intersect(topology.online);
  const held = besideShared.intersect(topology.online);
  const notExclusive = topology.online.minus(exclusive);
  const strictlyReserved = settings.options.strictCpuReservation ? settings.reserved : CpuSet.empty;
  return {
    exclusive,
    held,
    sharedPool: firstNonEmpty(
      notExclusive.minus(strictlyReserved),
      // Only when CPUs went offline under us: shared containers must run somewhere, rather on reserved CPUs
      // than on exclusive ones, and rather on those than nowhere. The reconciler reports it as violated.
      notExclusive,
      topology.online,
    ),
    free: notExclusive.minus(settings.reserved).minus(held),
  };
}

function firstNonEmpty(...sets: CpuSet[]): CpuSet {
  return sets.find((set) => !set.isEmpty) ?? CpuSet.empty;
}

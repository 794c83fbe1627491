import type { CpuSet } from '../cpuset';
import type { Topology } from '../topology';
import { listAsking } from './asked-huge-pages';
import { keyOf, type Assignment, type AssignmentKey } from './assignment';
import type { Brought } from './brought';
import { writeChange, type Change } from './change';
import type { Container, Pod } from './container';
import type { HoldingsView } from './holdings';
import type { NodeView } from './node-view';
import type { HeldByOthers, PodHoldingsView } from './pod-holdings';
import type { PodLevel } from './pod-level';
import { countHugePages, type PromisedHugePages } from './promised-huge-pages';
import type { BytesByNode } from './promised-memory';
import type { Settings } from './settings';
import { SILENT, type SpecSource, type SpecsView } from './spec-book';
import type { Write } from './table';
import { Tables } from './tables';

/** The machine, the settings, the assignments, and the pods and containers that run. */
export class NodeModel implements NodeView {
  private readonly tables = new Tables();
  private readonly sets = this.tables.sets;
  private writes = 0;
  readonly assignments: ReadonlyMap<AssignmentKey, Assignment> = this.tables.assignments.values as Map<
    AssignmentKey,
    Assignment
  >;
  readonly pods: ReadonlyMap<string, Pod> = this.tables.pods.values;
  readonly containers: ReadonlyMap<string, Container> = this.tables.containersOfPods;
  readonly allContainers: ReadonlyMap<string, Container> = this.tables.containers.values;
  readonly brought: ReadonlyMap<AssignmentKey, Brought> = this.tables.brought.values as Map<AssignmentKey, Brought>;
  readonly podLevel: ReadonlyMap<string, PodLevel> = this.tables.podLevel.values;
  readonly podSpecs: SpecsView = this.tables.podSpecs;
  readonly keptSpecs: SpecsView = this.tables.keptSpecs;
  readonly unplanned: ReadonlyMap<string, string> = this.tables.unplanned.values;
  readonly holdings: HoldingsView = this.tables.holdings;
  readonly waiting: ReadonlySet<string> = this.tables.waiting;
  readonly unswitched: ReadonlySet<string> = this.tables.unswitched;

  constructor(topology: Topology, settings: Settings) {
    this.apply({ kind: 'set-topology', topology });
    this.apply({ kind: 'set-settings', settings });
    this.apply({ kind: 'set-spec-source', source: SILENT });
    this.apply({ kind: 'set-synchronized', synchronized: false });
  }

  get revision(): number {
    return this.writes;
  }

  get topology(): Topology {
    return this.tables.topology.value;
  }

  get settings(): Settings {
    return this.tables.settings.value;
  }

  get specSource(): SpecSource {
    return this.tables.specSource.value;
  }

  get synchronized(): boolean {
    return this.tables.synchronized.value;
  }

  get exclusive(): CpuSet {
    return this.sets.value.exclusive;
  }

  get nonExclusive(): CpuSet {
    return this.sets.value.nonExclusive;
  }

  get sharedPool(): CpuSet {
    return this.sets.value.sharedPool;
  }

  get free(): CpuSet {
    return this.sets.value.free;
  }

  holdingsOf(podUid: string): PodHoldingsView {
    return this.tables.holdingsByPod.of(podUid);
  }

  heldBesides(podUid: string, containerName: string): HeldByOthers {
    return this.tables.holdingsByPod.of(podUid).without(this.assignmentFor(podUid, containerName));
  }

  promisedMemory(except?: readonly Container[]): BytesByNode {
    return this.tables.memory.without(except);
  }

  promisedHugePages(except?: Pick<Assignment, 'podUid' | 'containerName'>): PromisedHugePages {
    const { withHugePages: containers, specsWithHugePages: specs } = this.tables;
    return countHugePages(this.topology, listAsking(this, { containers, specs }, except));
  }

  assignmentFor(podUid: string, containerName: string): Assignment | undefined {
    return this.assignments.get(keyOf({ podUid, containerName }));
  }

  assignmentOf({ id, podUid, name }: Pick<Container, 'id' | 'podUid' | 'name'>): Assignment | undefined {
    const assignment = this.assignmentFor(podUid, name);
    return assignment?.containerId === id ? assignment : undefined;
  }

  assignmentsOf(podUid: string): Assignment[] {
    return this.tables.assignmentsByPod.of(podUid);
  }

  broughtTo(podUid: string, containerName: string): Brought | undefined {
    return this.brought.size === 0 ? undefined : this.brought.get(keyOf({ podUid, containerName }));
  }

  broughtBy(podUid: string): Brought[] {
    return this.tables.broughtByPod.of(podUid);
  }

  containersOf(podUid: string): Container[] {
    return this.tables.containersByPod.of(podUid);
  }

  podsOf(podUid: string): Pod[] {
    return this.tables.podsByUid.of(podUid);
  }

  /** Makes a change. `undo` takes it back. */
  apply(change: Change): Write {
    this.writes++;
    return writeChange(this.tables, change);
  }

  /** Takes a write back. Later writes to the same key have to be taken back before. */
  undo({ table, key, before }: Write): void {
    this.writes++;
    table.write(key, before);
  }
}

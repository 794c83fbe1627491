import type { Topology } from '../topology';
import type { Assignment, AssignmentKey } from './assignment';
import type { Brought } from './brought';
import type { Container, Pod } from './container';
import type { DerivedSets } from './derived-sets';
import type { HoldingsView } from './holdings';
import type { HeldByOthers, PodHoldingsView } from './pod-holdings';
import type { PodLevel } from './pod-level';
import type { PromisedHugePages } from './promised-huge-pages';
import type { BytesByNode } from './promised-memory';
import type { Settings } from './settings';
import type { SpecSource, SpecsView } from './spec-book';

/** The model of the node, read-only. */
export interface NodeView extends DerivedSets {
  /** Goes up with every change: what was computed from an older one may be out of date. */
  readonly revision: number;
  readonly topology: Topology;
  readonly settings: Settings;
  readonly assignments: ReadonlyMap<AssignmentKey, Assignment>;
  /** By the id of the sandbox. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** Containers of pods, without pause containers. */
  readonly containers: ReadonlyMap<string, Container>;
  /** All whose cpusets are kept: `containers`, and the pause containers of their pods by the id of the sandbox. */
  readonly allContainers: ReadonlyMap<string, Container>;
  /** CPUs and memory nodes that creations brought, by pod and name. */
  readonly brought: ReadonlyMap<AssignmentKey, Brought>;
  /** Pods whose containers have shown something of their resources, by the uid of the pod. */
  readonly podLevel: ReadonlyMap<string, PodLevel>;
  /** The last spec of each pod from the API server, by the uid that it has there; empty without one. */
  readonly podSpecs: SpecsView;
  /** The part of them that decides anything and that a restart must not forget. */
  readonly keptSpecs: SpecsView;
  readonly specSource: SpecSource;
  /** Pods of which containers are still to come and have no CPUs yet, by the uid of the spec: since when. */
  readonly unplanned: ReadonlyMap<string, string>;
  /**
   * True after the first complete Synchronize. Pods and containers that are absent from the model do not exist then.
   */
  readonly synchronized: boolean;
  /** The CPUs and nodes that all assignments hold together. */
  readonly holdings: HoldingsView;
  /** The CPUs and nodes that the assignments of a pod hold together. */
  holdingsOf(podUid: string): PodHoldingsView;
  /** Those of the assignments of a pod but for this name. */
  heldBesides(podUid: string, containerName: string): HeldByOthers;
  /** Containers that wait for CPUs of their own; in no order. */
  readonly waiting: ReadonlySet<string>;
  /** Containers whose pod's annotations ask for another policy, and that could not be switched yet; in no order. */
  readonly unswitched: ReadonlySet<string>;
  /** Memory that is promised to containers of pods, those of `except` left out. */
  promisedMemory(except?: readonly Container[]): BytesByNode;
  /** The same for huge pages, those of containers of this name left out. */
  promisedHugePages(except?: Pick<Assignment, 'podUid' | 'containerName'>): PromisedHugePages;
  /** The assignment of this name, whichever container of the name holds it; undefined when there is none. */
  assignmentFor(podUid: string, containerName: string): Assignment | undefined;
  /** The assignment that this container holds; not one of its name that it may take over. */
  assignmentOf(container: Pick<Container, 'id' | 'podUid' | 'name'>): Assignment | undefined;
  assignmentsOf(podUid: string): Assignment[];
  /** The CPUs and memory nodes that the last creation of this name brought; undefined when it brought none. */
  broughtTo(podUid: string, containerName: string): Brought | undefined;
  broughtBy(podUid: string): Brought[];
  /** The containers of a pod: an event about it looks at those, and not at all of the node. */
  containersOf(podUid: string): Container[];
  /** The sandboxes of a pod, stopped ones included. */
  podsOf(podUid: string): Pod[];
}

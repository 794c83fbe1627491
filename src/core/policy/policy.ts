import type { AllocationStep } from '../allocation';
import type { TopologyResult } from '../annotations/topology-result';
import type { CpuSet } from '../cpuset';
import type { AssignmentKind } from '../model/assignment';
import type { Brought } from '../model/brought';
import type { HugePages } from '../huge-pages';
import type { PromisedHugePages } from '../model/promised-huge-pages';
import type { RefusalCode } from '../model/events';
import type { Settings } from '../model/settings';
import type { Topology } from '../topology';

/** Everything that a policy may read. The same snapshot and the same request always give the same decision. */
export interface Snapshot {
  readonly topology: Topology;
  readonly settings: Settings;
  /**
   * CPUs that this container (pod and name) has, or had before it exited; empty when it has none, or of another claim.
   */
  readonly own: CpuSet;
  /** CPUs of exited containers of the same pod, of the same claim. */
  readonly idleInPod: CpuSet;
  /** CPUs of all containers of the same pod, this one and exited ones included. */
  readonly ownedByPod: CpuSet;
  /** The set that containers of the pod share, as the scheduler chose it. */
  readonly podSet: PodSet;
  /** Online CPUs that are neither assigned nor reserved. */
  readonly free: CpuSet;
  readonly sharedPool: CpuSet;
  readonly followers: Followers;
  /** The CPUs and memory nodes that the request brought: `own`, `idleInPod` and `free` have none beyond these CPUs. */
  readonly brought?: Pick<Brought, 'cpus' | 'mems'>;
  /** Its memory nodes are left alone. */
  readonly leavesMemory?: true;
  /** Memory that is promised to others, in bytes by memory node; a node that is not named has none. */
  readonly promisedMemory: ReadonlyMap<number, number>;
  /** Huge pages that are promised to others; absent = none. */
  readonly promisedHugePages?: () => PromisedHugePages;
}

export interface PodSet {
  /** Empty when there is none. */
  readonly cpus: CpuSet;
  /** A container runs on it now, or is about to. */
  readonly inUse: boolean;
}

/** Containers that have no CPUs but follow what is shared on their NUMA nodes. */
export interface Followers {
  /** The CPUs that each of the others runs on now, every set once. None of them may be taken whole. */
  readonly sets: readonly CpuSet[];
  /** Whole CPUs of the shared pool that others asked for, by NUMA node. */
  readonly demand: ReadonlyMap<number, number>;
  /** The nodes of this container, and of other containers of its pod; empty when none. */
  readonly ownNodes: CpuSet;
  readonly nodesOfPod: CpuSet;
}

/** A container that is entitled to whole CPUs. */
export interface PinRequest {
  /** Whole CPUs, at least 1. */
  readonly count: number;
  /**
   * Whole CPUs of all containers of the pod together, as far as they are known; at least `count`. Absent when the pod
   * has announced no sum.
   */
  readonly podCount?: number;
  /** The container's memory limit; 0 when it has none. */
  readonly memoryBytes: number;
  /** Its limits of huge pages; absent = it asks for none. */
  readonly hugePages?: HugePages;
  /** It runs, and keeps what it has: its own CPUs, or the NUMA nodes that it follows. */
  readonly keepsOwn?: true;
  /** The scheduler's choice for the whole pod; only for policies that follow it. */
  readonly scheduled?: TopologyResult;
  /**
   * The rest of the scheduler's choice that the pod's other containers leave; only for a policy that gives each
   * container its own.
   */
  readonly restOfResult?: TopologyResult;
}

/** The outcome of a request, with the reason, written for the operator, and the steps that led there. */
export type Decision =
  | {
      readonly kind: 'pin';
      readonly assignmentKind: AssignmentKind;
      /** Empty for a kind that follows nodes. */
      readonly cpus: CpuSet;
      /** The NUMA nodes to follow; only for a kind that does. */
      readonly nodes?: CpuSet;
      /** `pod`: the CPUs are shared with the pod's other containers of this scope. */
      readonly scope?: 'pod';
      /** Memory nodes to go with the CPUs; empty = memory is left alone. */
      readonly mems: CpuSet;
      /** The reason for the CPUs, or for the nodes to follow. */
      readonly because: string;
      /** Remarks on what goes with them: the memory nodes, and what the request brought; absent = nothing. */
      readonly besides?: readonly string[];
      /** The reason why the scheduler's choice was not followed; absent when it was, or there was none. */
      readonly unfollowed?: string;
      readonly steps: readonly AllocationStep[];
    }
  | { readonly kind: 'share'; readonly because: string }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly because: string };

/** The whole reason of a decision, written for the operator. */
export function explainDecision(decision: Decision): string {
  const { because } = decision;
  return decision.kind === 'pin' ? [because, ...(decision.besides ?? [])].join('; ') : because;
}

/** Decides one request against one snapshot. Pure: the same input always gives the same decision. */
export type Policy = (snapshot: Snapshot, request: PinRequest) => Decision;

/** The same for every policy that grants in this way; `kind` is the kind of assignment to make. */
export type Grant = (snapshot: Snapshot, request: PinRequest, kind: AssignmentKind) => Decision;

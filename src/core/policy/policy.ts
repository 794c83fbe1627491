import type { AllocationStep } from '../allocation/take';
import type { CpuSet } from '../cpuset';
import type { AssignmentKind } from '../model/assignment';
import type { RefusalCode } from '../model/events';
import type { Settings } from '../model/settings';
import type { Topology } from '../topology';

/** All that a policy may look at. The same snapshot and the same request always give the same decision. */
export interface Snapshot {
  readonly topology: Topology;
  readonly settings: Settings;
  /** CPUs that this very container (pod and name) has, or had before it exited; empty when none. */
  readonly own: CpuSet;
  /** CPUs of exited containers of the same pod. */
  readonly idleInPod: CpuSet;
  /** CPUs of all containers of the same pod, this one and exited ones included. */
  readonly ownedByPod: CpuSet;
  /** Online CPUs that nobody owns and that are not reserved. */
  readonly free: CpuSet;
  readonly sharedPool: CpuSet;
  /** Memory that is promised to others, in bytes by memory node; a node that is not named has none. */
  readonly promisedMemory: ReadonlyMap<number, number>;
}

/** A container that is entitled to CPUs of its own. */
export interface PinRequest {
  /** Whole CPUs, at least 1. */
  readonly count: number;
  /** Whole CPUs of all containers of the pod together, as far as it announced them; at least `count`. */
  readonly podCount: number;
  /** The container's memory limit; 0 when it has none. */
  readonly memoryBytes: number;
}

/** What becomes of a request, with the reason, written for the operator, and the steps that led there. */
export type Decision =
  | {
      readonly kind: 'pin';
      readonly assignmentKind: AssignmentKind;
      readonly cpus: CpuSet;
      /** Memory nodes to go with the CPUs; empty = memory is left alone. */
      readonly mems: CpuSet;
      readonly because: string;
      readonly steps: readonly AllocationStep[];
    }
  | { readonly kind: 'share'; readonly because: string }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly because: string };

/** Decides one request against one snapshot. Pure: the same input always gives the same decision. */
export type Policy = (snapshot: Snapshot, request: PinRequest) => Decision;

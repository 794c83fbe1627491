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
  /** Online CPUs that nobody owns and that are not reserved. */
  readonly free: CpuSet;
  readonly sharedPool: CpuSet;
}

/** A container that is entitled to CPUs of its own. */
export interface PinRequest {
  /** Whole CPUs, at least 1. */
  readonly count: number;
}

/** What becomes of a request, with the reason, written for the operator, and the steps that led there. */
export type Decision =
  | {
      readonly kind: 'pin';
      readonly assignmentKind: AssignmentKind;
      readonly cpus: CpuSet;
      readonly because: string;
      readonly steps: readonly AllocationStep[];
    }
  | { readonly kind: 'share'; readonly because: string }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly because: string };

/** Decides one request against one snapshot. Pure: the same input always gives the same decision. */
export type Policy = (snapshot: Snapshot, request: PinRequest) => Decision;

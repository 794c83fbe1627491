import type { AllocationStep } from '../../core/allocation';
import type { CpuSet } from '../../core/cpuset';
import type { ContainerStatus, IdleAssignment } from './status';

export type ExplainQuery =
  | {
      readonly kind: 'pod';
      /** Empty: any, and `pod` may be a uid. */
      readonly namespace: string;
      readonly pod: string;
      /** Empty: all. */
      readonly container: string;
    }
  | { readonly kind: 'cpus'; readonly count: number };

export type Explanation =
  | {
      readonly kind: 'containers';
      readonly containers: readonly ContainerExplanation[];
      /** CPUs of containers that exited. */
      readonly idle: readonly IdleAssignment[];
      /** Containers whose last request was refused. */
      readonly refused: readonly RefusedContainer[];
      /** Other pods of the same namespace and name. */
      readonly others: readonly OtherPod[];
    }
  | {
      readonly kind: 'what-if';
      readonly fits: boolean;
      readonly cpus: CpuSet;
      readonly because: string;
      readonly steps: readonly AllocationStep[];
    };

/** Another pod of the namespace and name that was asked for: its uid tells it apart. */
export interface OtherPod {
  readonly podUid: string;
  /** It has a container that runs. */
  readonly running: boolean;
  /** The CPUs that it has for itself, idle ones included. */
  readonly cpus: CpuSet;
}

export interface ContainerExplanation {
  readonly container: ContainerStatus;
  /** The steps of the allocation; empty when they were not kept. */
  readonly steps: readonly AllocationStep[];
}

/** A refused container: times, request, obstacle and remedy. */
export interface RefusedContainer {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly asked: 'creation' | 'start' | 'change' | 'unknown';
  /** Whole CPUs that it is entitled to; 0 for a container that would have shared. */
  readonly requested: number;
  readonly policy: string;
  /** The pod's annotation that chose the policy. */
  readonly chosenBy?: string;
  /** gRPC's name of the status that it was answered with. */
  readonly code: string;
  /** The reason of the last refusal. */
  readonly because: string;
  readonly firstAt: string;
  readonly lastAt: string;
  /** Number of refusals, retries included. */
  readonly times: number;
  readonly zones: readonly ZoneRoom[];
  /** The outcome of the same request now; empty when that is not known. */
  readonly now: string;
  readonly fitsNow: boolean;
  readonly remedy: string;
}

/** CPUs of one NUMA node. */
export interface ZoneRoom {
  readonly node: number;
  readonly allocatable: number;
  /** Free when the container was refused last. */
  readonly free: number;
  readonly freeNow: number;
  /** Pods that have CPUs there for themselves now. */
  readonly podsNow: number;
}

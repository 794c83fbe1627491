import type { RefusalCode } from './events';
import type { ChosenPolicy } from './policies';

/** A container that was refused and has not been accepted since. Texts are bounded: it is kept on disk. */
export interface Refusal extends ChosenPolicy {
  readonly podUid: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly containerName: string;
  /** Its creation was refused, its start, or a change of its resources while it ran. */
  readonly asked: 'creation' | 'start' | 'change';
  /** Whole CPUs that it is entitled to by its policy; 0 when it would have shared. */
  readonly requested: number;
  /** Whole CPUs of all containers of its pod; absent when they are not known. */
  readonly podCount?: number;
  readonly memoryBytes?: number;
  /**
   * Its request bounds the choice of CPUs: it brought CPUs or memory nodes, or asks for huge pages. The bounds
   * themselves are not kept.
   */
  readonly isBound?: true;
  readonly code: RefusalCode;
  /** Written for the operator, as of the last time. */
  readonly because: string;
  /** The node at the last time: NUMA nodes with CPUs, ascending by id, and of very many the first. */
  readonly zones: readonly FreeInZone[];
  /** RFC 3339. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** Times that it was refused, retries included. */
  readonly times: number;
}

/** Counts of CPUs in one NUMA node. */
export interface FreeInZone {
  readonly node: number;
  readonly allocatable: number;
  readonly free: number;
}

/** The key that a refusal is found by: retries come with new container ids. */
export function keyOfRefusal(refusal: Pick<Refusal, 'podUid' | 'containerName'>): string {
  return `${refusal.podUid}/${refusal.containerName}`;
}

const CODES: Readonly<Record<RefusalCode, true>> = {
  RESOURCE_EXHAUSTED: true,
  FAILED_PRECONDITION: true,
  UNAVAILABLE: true,
  INVALID_ARGUMENT: true,
  INTERNAL: true,
};

/** True for a code that a refusal may have. */
export function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(CODES, code);
}

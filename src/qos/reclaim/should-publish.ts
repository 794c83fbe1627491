import type { Lendable } from './lendable';

/** The amounts on the Node. Absent = not there, or not decided. */
export interface PublishedResources {
  /** Of `gocrane.io/cpu`: whole CPUs, since an extended resource of Kubernetes is a whole number. */
  readonly milliCpu?: number;
  /** Of `gocrane.io/memory`. */
  readonly memoryBytes?: number;
}

export type PublishDecision =
  | { readonly kind: 'shrink' | 'grow' | 'keep'; readonly because: string }
  /** It is not on the Node. */
  | { readonly kind: 'new'; readonly because: string };

/** Memory is published in whole steps of this, so that use that changes by pages is not written again and again. */
export const MEMORY_STEP_BYTES = 64 * 2 ** 20;
/** Growth up to this part of the published amount is not written. */
const MIN_GROWTH = 0.1;

/** The amounts as they are published: rounded down, so that no more is promised than can be lent. */
export function toPublished({ cpu, memory }: Lendable): PublishedResources {
  return {
    ...(cpu && { milliCpu: Math.floor(cpu.milliCpu / 1000) * 1000 }),
    ...(memory && { memoryBytes: Math.floor(memory.bytes / MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES }),
  };
}

/**
 * Decides whether an amount is written. Less is always written; more only from 0, or when it is more by more than a
 * tenth.
 */
export function shouldPublish(published: number | undefined, next: number): PublishDecision {
  if (published === undefined) return { kind: 'new', because: 'it is not on the Node' };
  if (next < published) return { kind: 'shrink', because: `${published} is more than can be lent now` };
  if (next === published) return { kind: 'keep', because: 'it is the same' };
  if (published <= 0) return { kind: 'grow', because: 'nothing was lent before' };
  return next - published > MIN_GROWTH * published
    ? { kind: 'grow', because: `it is more than ${published} by more than a tenth` }
    : { kind: 'keep', because: `it is more than ${published} by a tenth at most` };
}

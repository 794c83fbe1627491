export { compareListing } from './compare-listing';
export type { KnownBefore, RuntimeListing } from './compare-listing';
export { Draft } from './draft';
export type { Note } from './draft';
export { handle } from './handle';
export type { Outcome } from './handle';
export { reconcile } from './reconcile';
export type { Judged } from './reconcile';
export type { LiveCpusets } from './synchronize';

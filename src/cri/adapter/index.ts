export { createAdapter, type Adapter } from './interceptors';
export { mergeInventory, takeKnown } from './merge-inventory';
export type { Ports } from './ports';

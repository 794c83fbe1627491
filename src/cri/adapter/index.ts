export { createAdapter, type Adapter } from './interceptors';
export { mergeInventory } from './merge-inventory';

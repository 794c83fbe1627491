export { createAdapter, type Adapter } from './create-interceptors';
export { mergeInventory } from '../../core/transition/inventory';

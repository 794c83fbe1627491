export { createInterceptors, type InterceptorSet } from './create-interceptors';
export { mergeInventory } from '../../core/transition/compare-listing';

export { chooseReserved } from './reserved';
export type { AllocationStep } from './run';
export { take, takeByOptions } from './take';
export type { TakeRequest, TakeResult } from './take';
export { threadsPerCore } from '../topology';

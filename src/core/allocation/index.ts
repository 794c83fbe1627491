export { take } from './take';
export type { AllocationStep, TakeRequest, TakeResult } from './take';

export { choose, cpusOfNodes, takeByOptions, threadsPerCore } from './choose';
export { chooseReserved, countReserved, reservedPhysical } from './reserved';
export { take } from './take';
export type { AllocationStep, TakeRequest, TakeResult } from './take';

export { choose, cpusOfNodes, takeByOptions, threadsPerCore } from './choose';
export type { ChooseRequest } from './choose';
export { chooseReserved, countReserved, reservedPhysical } from './reserved';
export type { ReservedCpus } from './reserved';
export { take } from './take';
export type { AllocationStep, TakeRequest, TakeResult } from './take';

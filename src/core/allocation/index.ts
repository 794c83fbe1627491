export { listByKind, splitFromSlowest } from './by-kind';
export { composeCores } from './compose-cores';
export { chooseReserved } from './reserved';
export type { AllocationStep } from './run';
export { allocate, allocateByOptions } from './allocate';
export type { AllocationRequest, AllocationResult } from './allocate';

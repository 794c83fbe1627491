export { countNodeResources } from './node-resources';
export type { Amounts, NodeResources, Zone } from './node-resources';
export { spreadMemoryReservation } from './spread-memory-reservation';

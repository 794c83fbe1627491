export { countNodeResources } from './node-resources';
export type { Amounts, NodeResources, Zone } from './node-resources';

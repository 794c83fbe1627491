export type { Parsed } from './problem';
export { checkOptionsAreUsed, checkStaticPolicyOptions, parseStaticPolicyOptions } from './static-policy-options';
export {
  checkTopologyManagerOptions,
  MAX_ALLOWABLE_NUMA_NODES,
  MIN_ALLOWABLE_NUMA_NODES,
  NO_TOPOLOGY_MANAGER_OPTIONS,
  parseTopologyManagerOptions,
} from './topology-manager-options';

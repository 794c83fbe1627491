export type { Annotations, Remark } from './annotation';
export { choosePolicy } from './choose-policy';
export { excludesReserved } from './exclude-reserved';
export { decisiveAnnotations } from './decisive';
export { sayingOf } from './saying';
export { parseTopologyResult, readTopologyResult, TOPOLOGY_RESULT, totalOf } from './topology-result';
export type { TopologyResult } from './topology-result';

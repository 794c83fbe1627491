export { excludesReserved, MIRROR, MIRROR_HASH } from './annotations';
export type { Annotations, Remark } from './annotations';
export { choosePolicy } from './choose-policy';
export { DecisiveAnnotations, decisiveAnnotations, rememberedAnnotations, digestAnnotations } from './decisive';
export { parseTopologyResult, readTopologyResult, resultOf, TOPOLOGY_RESULT, totalOf } from './topology-result';
export type { TopologyResult } from './topology-result';

export type { Annotations, Remark } from './annotation';
export { choosePolicy } from './choose-policy';
export { excludesReserved } from './exclude-reserved';
export { DecisiveAnnotations, decisiveAnnotations, rememberedAnnotations } from './decisive';
export { MIRROR, MIRROR_HASH } from './mirror';
export { sayingOf } from './saying';
export { parseTopologyResult, readTopologyResult, resultOf, TOPOLOGY_RESULT, totalOf } from './topology-result';
export type { TopologyResult } from './topology-result';

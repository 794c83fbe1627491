export { checkKubeletState, checkKubeletStateV1, isOfCraneAgent } from './check';
export { assignmentsFromKubelet, toKubeletState, type KnownContainer, type NotTaken } from './convert';
export { formatKubeletContent, formatKubeletState, formatKubeletStateV1 } from './format';
export { MAX_KUBELET_STATE_BYTES, parseKubeletState, type ParsedKubeletState } from './parse';
export { nameContainers, type KubeletState, type KubeletStateV1 } from './state';

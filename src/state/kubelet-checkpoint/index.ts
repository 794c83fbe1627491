export { assignmentsFromKubelet, toKubeletState, type KnownContainer, type NotTaken, type TakeOver } from './convert';
export { formatKubeletContent, formatKubeletState, formatKubeletStateV1 } from './format';
export { parseKubeletState, type KubeletProblem, type ParsedKubeletState } from './parse';
export { nameContainers, type KubeletFormat, type KubeletState, type KubeletStateV1 } from './state';

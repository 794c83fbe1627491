export { align } from './align';
export type { Alignment } from './align';
export { hintCpus } from './cpu-hints';
export { hintMemory } from './memory-hints';
export { mergeHints } from './merge-hints';
export type { MergeInput, ProviderHints } from './merge-hints';
export { FITS, PREFERRED, type HintTable, type NodeMask, type TopologyHint } from './topology-hint';

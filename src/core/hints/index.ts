export { align } from './align';
export type { Alignment } from './align';
export { mergeHints } from './merge-hints';
export type { MergeInput, ProviderHints } from './merge-hints';
export { FITS, PREFERRED, type HintTable, type NodeMask, type TopologyHint } from './node-masks';
export { hintCpus, hintMemory } from './providers';

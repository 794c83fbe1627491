import type { VerdictKind } from './judge';

/** Verdicts for which an operator looks at a node, from another machine. The others change with each container. */
export const PUBLISHED_VERDICTS = [
  'drifted',
  'violated',
  'unknown',
  'held-under-old-rules',
] as const satisfies readonly VerdictKind[];
export type PublishedVerdict = (typeof PUBLISHED_VERDICTS)[number];

import { FITS, PREFERRED, type HintTable, type TopologyHint } from '../../../src/core/hints/node-masks';
import type { ProviderHints } from '../../../src/core/hints/merge-hints';
import type { ProviderHints as ListedHints } from './one-by-one';

/** The hints of a table one by one, in ascending order of masks, the one without a mask first. */
export function listHints(table: HintTable): TopologyHint[] {
  return [...table].flatMap((hint, mask) =>
    hint === 0 ? [] : [{ mask: mask === 0 ? null : mask, preferred: hint === PREFERRED }],
  );
}

/** The table of these hints. */
export function tableOf(hints: readonly TopologyHint[], nodeCount: number): HintTable {
  const table = new Uint8Array(2 ** nodeCount);
  for (const { mask, preferred } of hints) table[mask ?? 0] = Math.max(table[mask ?? 0]!, preferred ? PREFERRED : FITS);
  return table;
}

/** The hints of a provider, as tables. */
export function tablesOf(provider: ListedHints, nodeCount: number): ProviderHints {
  if (provider === null) return null;
  return Object.fromEntries(
    Object.entries(provider).map(([resource, hints]) => [resource, hints && tableOf(hints, nodeCount)]),
  );
}

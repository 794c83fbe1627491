import { levelOf } from '../../admin/summary/promises';
import { compareTexts } from '../../core/text';
import type { TopContainer } from './top';

/** The orders of rows, each with the key that chooses it in a terminal. */
export const SORT_KEYS = {
  used: 'u',
  wait: 'w',
  throttled: 't',
  others: 'o',
  name: 'n',
  verdict: 'v',
} as const;

export type SortBy = keyof typeof SORT_KEYS;

export interface Order {
  readonly by: SortBy;
  readonly isReversed: boolean;
}

const LEVELS = ['error', 'warning', 'ok'] as const;

/** The figure of an order: the largest comes first. Undefined where it is not known, or the order has none. */
const FIGURES: Readonly<Record<SortBy, (container: TopContainer) => number | undefined>> = {
  used: ({ usedPercent }) => usedPercent,
  wait: ({ waitMsPerSecond }) => waitMsPerSecond,
  throttled: ({ throttledPercent }) => throttledPercent,
  others: ({ foreign }) => foreign?.percent,
  name: () => undefined,
  verdict: ({ verdict }) => -LEVELS.indexOf(levelOf(verdict.kind)),
};

/**
 * Sorts containers: those with the largest figure first, those with the worst verdict, or by name. Equal ones are in
 * the order of their names, and those whose figure is not known come last, reversed or not.
 */
export function sortTop<T extends TopContainer>(containers: readonly T[], { by, isReversed }: Order): readonly T[] {
  const figureOf = FIGURES[by];
  const sign = isReversed ? -1 : 1;
  return [...containers].sort((a, b) => {
    const [x, y] = [figureOf(a), figureOf(b)];
    if (x === undefined || y === undefined) {
      if (x !== y) return x === undefined ? 1 : -1;
      return (by === 'name' ? sign : 1) * compareNames(a, b);
    }
    return sign * (y - x) || compareNames(a, b);
  });
}

/** The order after a key was pressed; the same one for a key that chooses none. */
export function reorder(order: Order, key: string): Order {
  if (key === 'r') return { ...order, isReversed: !order.isReversed };
  const [by] = Object.entries(SORT_KEYS).find(([, each]) => each === key) ?? [];
  return by === undefined ? order : { by: by as SortBy, isReversed: false };
}

function compareNames(a: TopContainer, b: TopContainer): number {
  return (
    compareTexts(a.namespace, b.namespace) ||
    compareTexts(a.pod, b.pod) ||
    compareTexts(a.container, b.container) ||
    compareTexts(a.containerId, b.containerId)
  );
}

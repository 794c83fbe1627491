import type { Html } from './html';
import { keptInOrder } from './kept-in-order';

/** A piece of the page that is replaced as a whole. Its HTML is one element with this id. */
export interface Fragment {
  readonly id: string;
  readonly html: Html;
}

/** The contents of an element of the page with the id of this list, in their order. */
export interface FragmentList {
  readonly id: string;
  readonly items: readonly Fragment[];
}

/** All that changes on a page. */
export interface PageContent {
  readonly lists: readonly FragmentList[];
  /** CPUs, which lie deep in the map. Ids and their order only change with `machine`. */
  readonly cells: readonly Fragment[];
  /** The map without its contents: another one replaces all of it. */
  readonly machine: Machine;
}

/** The map of the machine. */
export interface Machine {
  /** Another text for each other machine. */
  readonly layout: string;
  readonly draw: (cells: readonly Fragment[]) => Html;
}

/** The changes that bring a browser from one content to the next. */
export interface PageChange {
  /** The whole map, for another machine. */
  readonly map?: string;
  /** Elements in place of those with the same ids. */
  readonly replace: readonly (readonly [id: string, html: string])[];
  /** New and moved elements of a list, each after the one that is named; at the beginning without one. */
  readonly insert: readonly (readonly [list: string, after: string | null, id: string, html: string])[];
  /** Elements that are gone, and those that are moved. They go first. */
  readonly remove: readonly string[];
}

/**
 * The change from one content to the next; undefined when they are the same. Without a content before, all of the next.
 */
export function diffContent(before: PageContent | undefined, next: PageContent): PageChange | undefined {
  const replace: [string, string][] = [];
  const insert: [string, string | null, string, string][] = [];
  const remove: string[] = [];
  for (const [index, list] of next.lists.entries()) {
    const known = new Map(before?.lists[index]?.items.map(({ id, html }, place) => [id, { text: html.text, place }]));
    const stays = findStaying(list.items, known);
    let after: string | null = null;
    for (const { id, html } of list.items) {
      const was = known.get(id);
      if (!stays.has(id)) insert.push([list.id, after, id, html.text]);
      else if (was!.text !== html.text) replace.push([id, html.text]);
      after = id;
    }
    remove.push(...[...known.keys()].filter((id) => !stays.has(id)));
  }
  const isOther = before?.machine.layout !== next.machine.layout;
  if (!isOther)
    for (const [index, { id, html }] of next.cells.entries())
      if (before.cells[index]!.html.text !== html.text) replace.push([id, html.text]);
  if (!isOther && replace.length + insert.length + remove.length === 0) return undefined;
  return { ...(isOther && { map: next.machine.draw(next.cells).text }), replace, insert, remove };
}

/** Ids of the elements that need not be moved. One that is moved is removed and comes again. */
function findStaying(
  items: readonly Fragment[],
  known: ReadonlyMap<string, { readonly place: number }>,
): ReadonlySet<string> {
  const before = items.filter(({ id }) => known.has(id));
  const kept = keptInOrder(before.map(({ id }) => known.get(id)!.place));
  return new Set(before.filter((_, position) => kept.has(position)).map(({ id }) => id));
}

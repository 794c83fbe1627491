import { asObject, asString, resourceVersionOf } from '../json';
import type { KubeClient } from '../api/kube-client';
import { KubeError } from '../api/kube-error';

export interface ListCall {
  readonly client: Pick<KubeClient, 'send'>;
  /** The collection; begins with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** Takes each object as it comes. */
  readonly onItem: (item: unknown) => void;
  /** An object has more in it than is read, and is left out. Without this, the list fails then. */
  readonly onUnread?: (because: string) => void;
  /** The list begins anew: what `onItem` got so far is void. */
  readonly onRestart: () => void;
  readonly pageSize: number;
}

const PAGE_TIMEOUT_MS = 30_000;
/** A list in one piece may be long. */
const WHOLE_TIMEOUT_MS = 300_000;

/**
 * Reads a whole collection in pages and resolves with the resource version to watch from. When the API server has
 * dropped the state that the pages are of (410 Gone), the list is read anew in one piece, as client-go does. Throws
 * KubeError.
 */
export async function listInPages(call: ListCall): Promise<string> {
  let next = '';
  do {
    let answer: PageEnd;
    try {
      answer = await readPage(call, { limit: String(call.pageSize), ...(next !== '' && { continue: next }) });
    } catch (error) {
      if (next === '' || !(error instanceof KubeError && error.status === 410)) throw error;
      call.onRestart();
      return (await readPage(call, {})).version;
    }
    if (answer.next === '') return answer.version;
    if (answer.next === next) throw new KubeError('the API server gave the same page of a list twice', 0);
    next = answer.next;
  } while (true);
}

interface PageEnd {
  readonly version: string;
  readonly next: string;
}

async function readPage(
  { client, path, query, accept, onItem, onUnread }: ListCall,
  page: Readonly<Record<string, string>>,
): Promise<PageEnd> {
  const answer = asObject(
    await client.send({
      method: 'GET',
      path,
      query: { ...query, ...page },
      ...(accept !== undefined && { accept }),
      timeoutMs: page['limit'] === undefined ? WHOLE_TIMEOUT_MS : PAGE_TIMEOUT_MS,
      onItem,
      ...(onUnread && { onUnread }),
    }),
  );
  // Go writes null for an empty list.
  if (!Array.isArray(answer['items']) && answer['items'] !== null)
    throw new KubeError(`the API server answered with something that is no list of ${path.replace(/^.*\//, '')}`, 0);
  return { version: resourceVersionOf(answer), next: asString(asObject(answer['metadata'])['continue']) };
}

import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded';
import { replaceDurably } from '../../files/durable-write';
import { nodeFsOps } from '../../files/fs-ops';

/** The labels of our Node. */
export type NodeLabels = Readonly<Record<string, string>>;

const REMEMBERED = 'node-labels.json';
/** The API server takes at most 256 KiB of labels and annotations of one object. */
const MAX_BYTES = 512 * 1024;

/**
 * The labels that the API server last had for our Node; undefined when they were never known, or the file is damaged.
 */
export function readKnownLabels(stateDir: string): NodeLabels | undefined {
  try {
    const read = readBounded(join(stateDir, REMEMBERED), MAX_BYTES, { own: true });
    if (!read.ok) return undefined;
    const labels: unknown = JSON.parse(read.text);
    if (typeof labels !== 'object' || labels === null) return undefined;
    const entries = Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return Object.fromEntries(entries);
  } catch {
    return undefined;
  }
}

/** Keeps them for the next start, which may come before the API server. Throws the error of the system. */
export function rememberLabels(stateDir: string, labels: NodeLabels): void {
  replaceDurably(nodeFsOps, join(stateDir, REMEMBERED), Buffer.from(`${JSON.stringify(labels)}\n`));
}

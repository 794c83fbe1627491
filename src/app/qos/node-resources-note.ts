import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { readBounded } from '../../files/read-bounded';
import {
  decodePublishedOnNode,
  encodePublishedOnNode,
  MAX_PUBLISHED_RESOURCES_BYTES,
  nodeFsOps,
  replaceDurably,
  syncDirectory,
  type FsOps,
} from '../../state';

export const NODE_RESOURCES_FILE = 'node-resources.json';

/** True when an earlier process left resources on the Node, as far as is known. */
export function hasNodeResourcesNote(stateDir: string): boolean {
  return existsSync(join(stateDir, NODE_RESOURCES_FILE));
}

/** A file that says that resources are on a Node: durable before the first is published, removed after the last. */
export class NodeResourcesNote {
  readonly path: string;
  private savedFor: string | undefined;

  constructor(
    stateDir: string,
    private readonly fs: FsOps = nodeFsOps,
  ) {
    this.path = join(stateDir, NODE_RESOURCES_FILE);
  }

  /**
   * The name of the Node that an earlier process published on; undefined without a note. A note that can't be read may be about our Node:
   * to remove what is not there does no harm.
   */
  read(ourNode: string, log: Logger): string | undefined {
    const read = readBounded(this.path, MAX_PUBLISHED_RESOURCES_BYTES, { own: true });
    if (!read.ok && read.kind === 'missing') return undefined;
    const decoded = read.ok ? decodePublishedOnNode(read.text) : read;
    if ('published' in decoded) return decoded.published.nodeName;
    const { because } = decoded;
    log.warn({ path: this.path, because }, 'the note about published resources is not known: they count as published');
    return ourNode;
  }

  /** Returns when the note is durable; does nothing when it is. Throws the system's error. */
  save(nodeName: string): void {
    if (this.savedFor === nodeName) return;
    this.savedFor = undefined;
    replaceDurably(this.fs, this.path, Buffer.from(encodePublishedOnNode({ nodeName }), 'utf8'));
    this.savedFor = nodeName;
  }

  /** Removes the note durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.savedFor = undefined;
    try {
      this.fs.unlink(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    syncDirectory(this.fs, dirname(this.path));
  }
}

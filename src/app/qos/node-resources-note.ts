import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { CpusetdError } from '../../core/errors';
import { DurableNote, publishedOnNodeFormat, type FsOps, type PublishedOnNode } from '../../state';

export const NODE_RESOURCES_FILE = 'node-resources.json';

/** True when an earlier process left resources on the Node, as far as is known. */
export function hasNodeResourcesNote(stateDir: string): boolean {
  return existsSync(join(stateDir, NODE_RESOURCES_FILE));
}

/** A file that says that resources are on a Node: durable before the first is published, removed after the last. */
export class NodeResourcesNote {
  private readonly note: DurableNote<PublishedOnNode>;

  constructor(stateDir: string, fs?: FsOps) {
    this.note = new DurableNote(join(stateDir, NODE_RESOURCES_FILE), publishedOnNodeFormat, fs);
  }

  get path(): string {
    return this.note.path;
  }

  /**
   * The name of the Node that an earlier process published on; undefined without a note. A note that can't be read may be about our Node:
   * to remove what is not there does no harm.
   */
  read(ourNode: string, log: Logger): string | undefined {
    const read = this.readNote();
    if (read.kind === 'missing') return undefined;
    if (read.kind === 'read') return read.value.nodeName;
    log.warn(
      { path: this.path, because: read.because },
      'the note about published resources is not known: they count as published',
    );
    return ourNode;
  }

  private readNote(): ReturnType<DurableNote<PublishedOnNode>['read']> {
    try {
      return this.note.read();
    } catch (error) {
      if (error instanceof CpusetdError) return { kind: 'broken', because: error.message };
      throw error;
    }
  }

  /** Returns when the note is durable; does nothing when it is. Throws the system's error. */
  save(nodeName: string): void {
    this.note.save({ nodeName });
  }

  /** Removes the note durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.note.forget();
  }
}

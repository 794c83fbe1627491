import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BackOff } from '../../net/back-off';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';
import { asObject, asString, asTexts } from '../json';
import { PacedWatch } from '../pods/watch-with-deadlines';
import type { NodeIdentity } from '../node-resource-topology/topology-resource';

export interface NodeInformerParts {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** The node is known, or another than before. */
  readonly onChange: () => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The pause before the Node is read again where it can't be watched. */
  readonly pollMs?: number;
}

interface Kept {
  readonly node: NodeIdentity;
  readonly version: string;
}

/** A watch that lasted so long was a real one. */
const REAL_MS = 5_000;
/** Between five and ten minutes, so that nodes do not come back in step. */
const LEAST_LIFE_S = 300;
const POLL_MS = 5 * 60_000;

/**
 * Follows the Node that we are on: one read, then a watch of it alone from there on, and so again when the watch ends. Without
 * the right to watch it is read every five minutes. Without the right to read, or without a Node of this name, it has a name
 * only: objects then have no owner, and are not worth less.
 */
export class NodeInformer {
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private readonly rights: MissingRights;
  private readonly lifeS = LEAST_LIFE_S + Math.floor(Math.random() * LEAST_LIFE_S);
  private known: NodeIdentity | undefined;

  constructor(private readonly parts: NodeInformerParts) {
    this.rights = new MissingRights(parts.log);
  }

  /** As it was told last; undefined before the first answer. */
  get node(): NodeIdentity | undefined {
    return this.known;
  }

  /** Ends with the signal; never rejects. */
  async follow(): Promise<void> {
    const { signal, log } = this.parts;
    while (!signal.aborted) {
      let waitMs = 0;
      try {
        waitMs = await this.followOnce();
      } catch (error) {
        waitMs = this.backOff.next(error instanceof KubeError ? error.retryAfterMs : undefined);
        log.debug({ because: explainKubeError(error), waitMs }, 'no news of the Node; asking again');
      }
      await pause(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves with the time until the next try. Rejects when the API server is not there. */
  private async followOnce(): Promise<number> {
    const { pollMs = POLL_MS } = this.parts;
    const version = await this.read();
    if (version === 'denied') return pollMs;
    if (version === 'absent') return this.backOff.next();
    const begunMs = performance.now();
    try {
      await this.watch(version);
      if (performance.now() - begunMs < REAL_MS) return this.backOff.next();
      this.backOff.reset();
      return 0;
    } catch (error) {
      const lost = 'a changed label of the Node is seen within five minutes, and not at once';
      if (this.rights.note(error, { verb: 'watch', resource: 'nodes', lost })) return pollMs;
      throw error;
    }
  }

  /** The version to watch from, or the reason why there is none. */
  private async read(): Promise<string> {
    const { client, nodeName, log } = this.parts;
    try {
      const { node, version } = keep(await client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}` }));
      this.become(node);
      return version;
    } catch (error) {
      const lost = 'what is published does not belong to the Node, and its labels are not followed';
      const isDenied = this.rights.note(error, { verb: 'get', resource: 'nodes', lost });
      const isAbsent = error instanceof KubeError && error.status === 404;
      if (!isDenied && !isAbsent) throw error;
      if (isAbsent) log.debug({ node: nodeName }, 'there is no Node of this name: what is published belongs to none');
      this.become({ name: nodeName, uid: '', labels: {} });
      return isDenied ? 'denied' : 'absent';
    }
  }

  /** Resolves when the watch is over, as it is after some minutes. */
  private async watch(version: string): Promise<void> {
    const { client, nodeName, signal } = this.parts;
    const watch = new PacedWatch({
      client,
      signal,
      onBegin: () => undefined,
      onOpen: () => undefined,
      reduce: keep,
      lifeMs: this.lifeS * 1000,
    });
    const query = {
      fieldSelector: `metadata.name=${nodeName}`,
      resourceVersion: version,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(this.lifeS),
    };
    const over = new AbortController();
    try {
      await new Promise<void>((resolve, reject) => {
        const onEvent = (phase: string, object: unknown): void => {
          if (phase === 'ADDED' || phase === 'MODIFIED') this.become((object as Kept).node);
          else if (phase === 'ERROR' || phase === 'DELETED') resolve(); // too old, or gone: reading tells
        };
        const onDone = (error: unknown): void => {
          if (error === null || error === undefined) resolve();
          else reject(error instanceof Error ? error : new KubeError(explainKubeError(error), 0));
        };
        signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
        watch.watch('/api/v1/nodes', query, onEvent, onDone).then((open) => {
          over.signal.addEventListener('abort', () => open.abort(), { once: true });
          if (over.signal.aborted) open.abort();
        }, reject);
      });
    } finally {
      over.abort();
    }
  }

  private become(node: NodeIdentity): void {
    const before = this.known;
    if (before?.uid === node.uid && JSON.stringify(before.labels) === JSON.stringify(node.labels)) return;
    this.known = node;
    this.parts.onChange();
  }
}

function keep(object: unknown): Kept {
  const { name, uid, labels, resourceVersion } = asObject(asObject(object)['metadata']);
  return {
    node: { name: asString(name), uid: asString(uid), labels: asTexts(labels) },
    version: asString(resourceVersion),
  };
}

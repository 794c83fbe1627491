import type { Logger } from 'pino';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';
import { Reflector } from '../api/reflector';
import { logFirstUnread } from '../api/unread-objects';
import { asObject, asString, asTexts, resourceVersionOf } from '../json';
import type { NodeIdentity } from '../objects/owner-reference';

export interface NodeInformerParts {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** The Node is known now, or has changed. */
  readonly onChange: () => void;
  /**
   * Gets each state of the Node that the API server sends; undefined when there is no Node. No part of it may be kept.
   */
  readonly onNode?: (object: unknown) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The pause before the Node is read again where it can't be watched. */
  readonly pollMs?: number;
}

const POLL_MS = 5 * 60_000;

/**
 * Follows our own Node: one read, then a watch from its version, and both again when the watch ends. Without the right
 * to watch it is read every five minutes. Without the right to read, or without a Node of this name, only the name is
 * known: published objects then have no owner, and work all the same.
 */
export class NodeInformer {
  private readonly rights: MissingRights;
  private readonly reflector: Reflector;
  private known: NodeIdentity | undefined;

  constructor(private readonly parts: NodeInformerParts) {
    const { client, signal, nodeName, log } = parts;
    this.rights = new MissingRights(log);
    this.reflector = new Reflector({
      client,
      signal,
      path: '/api/v1/nodes',
      fieldSelector: `metadata.name=${nodeName}`,
      list: () => this.read(),
      onOpen: () => undefined,
      onEvent: (type, object) => this.take(type === 'DELETED' ? undefined : object),
      onUnread: logFirstUnread(log, '/api/v1/nodes'),
      onFailure: (error, during, waitMs) => this.noteFailure(error, during, waitMs),
      canResume: false,
    });
  }

  /** The last reported Node; undefined before the first answer. */
  get node(): NodeIdentity | undefined {
    return this.known;
  }

  /** Runs until the signal aborts; never rejects. */
  follow(): Promise<void> {
    return this.reflector.run();
  }

  private async read(): Promise<string> {
    const { client, nodeName } = this.parts;
    const node = await client.send({ method: 'GET', path: `/api/v1/nodes/${nodeName}` });
    this.take(node);
    return resourceVersionOf(node);
  }

  /** Returns the milliseconds until the next try. */
  private noteFailure(error: unknown, during: 'list' | 'watch', waitMs: number): number {
    const { nodeName, log, pollMs = POLL_MS } = this.parts;
    if (this.rights.note(error, during === 'list' ? GET_NODES : WATCH_NODES)) {
      if (during === 'list') this.become(this.nameless);
      return pollMs;
    }
    if (during === 'list' && error instanceof KubeError && error.status === 404) {
      log.debug({ node: nodeName }, 'there is no Node of this name: what is published belongs to none');
      this.take(undefined);
    } else log.debug({ because: explainKubeError(error), waitMs }, 'no news of the Node; asking again');
    return waitMs;
  }

  /** Takes in the Node; undefined = there is none. */
  private take(object: unknown): void {
    const { onNode, log } = this.parts;
    try {
      onNode?.(object);
    } catch (error) {
      log.error({ err: error }, 'taking over the Node failed');
    }
    this.become(object === undefined ? this.nameless : toNodeIdentity(object));
  }

  private get nameless(): NodeIdentity {
    return { name: this.parts.nodeName, uid: '', labels: {} };
  }

  private become(node: NodeIdentity): void {
    const before = this.known;
    if (before?.uid === node.uid && JSON.stringify(before.labels) === JSON.stringify(node.labels)) return;
    this.known = node;
    this.parts.onChange();
  }
}

const GET_NODES = {
  verb: 'get',
  resource: 'nodes',
  lost: 'what is published does not belong to the Node, and its labels are not followed',
};
const WATCH_NODES = {
  verb: 'watch',
  resource: 'nodes',
  lost: 'a changed label of the Node is seen within five minutes, and not at once',
};

/** Name, uid and labels of a Node, as the API server sends it. */
export function toNodeIdentity(object: unknown): NodeIdentity {
  const { name, uid, labels } = asObject(asObject(object)['metadata']);
  return { name: asString(name), uid: asString(uid), labels: asTexts(labels) };
}

import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { LastProblem } from '../../net/connection-state';
import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';
import { asObject, asString } from '../json';

/** An Event for a pod. */
export interface PodEventMessage extends EventText {
  readonly pod: { readonly uid: string; readonly namespace: string; readonly name: string };
  readonly container?: string;
}

/** An Event for a Node. */
export interface NodeEventMessage extends EventText {
  readonly node: string;
}

interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** A word in upper camel case, the same for all events of its kind. */
  readonly reason: string;
  readonly message: string;
}

type EventMessage = PodEventMessage | NodeEventMessage;

export interface EventRecorderParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly nodeName: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  /** Repetitions within this time are written together. */
  readonly gatherMs?: number;
}

const GATHER_MS = 1_000;
/** Most events that wait; more are dropped, and their number is logged. */
const MAX_WAITING = 200;
const MAX_REMEMBERED = 1_000;
/** Most new events of one object at once; one more is allowed each minute. */
const BURST = 10;
const REFILL_MS = 60_000;
const MAX_MESSAGE = 1_024;
const MAX_TRIES = 3;

interface Written {
  readonly path: string;
  count: number;
}

interface Waiting {
  readonly event: EventMessage;
  count: number;
  tries: number;
  firstAt: string;
  lastAt: string;
}

/**
 * Writes Events on pods and on the Node: core/v1 Events like the kubelet's, because a repetition is one patch of a
 * count there, and all tools show them. A repeated event is counted up, not written anew, and one pod or Node can't
 * flood the cluster.
 */
export class EventRecorder {
  private readonly waiting = new Map<string, Waiting>();
  private readonly written = new Map<string, Written>();
  private readonly budgets = new Map<string, { tokens: number; atMs: number }>();
  private timer: NodeJS.Timeout | undefined;
  private sending = false;
  private dropped = 0;
  private readonly rights: MissingRights;
  private readonly problem = new LastProblem();

  constructor(private readonly parts: EventRecorderParts) {
    this.rights = new MissingRights(parts.log);
    parts.signal.addEventListener('abort', () => clearTimeout(this.timer), { once: true });
  }

  /** Never waits, never throws. */
  record(event: EventMessage): void {
    const { uid, fieldPath } = referenceTo(event);
    const key = JSON.stringify([uid, fieldPath, event.reason, event.message]);
    const now = this.parts.now();
    const same = this.waiting.get(key);
    if (same) {
      same.count++;
      same.lastAt = now;
    } else if (this.waiting.size >= MAX_WAITING || (!this.written.has(key) && !this.spend(uid))) {
      this.dropped++;
    } else {
      this.waiting.set(key, { event, count: 1, tries: 0, firstAt: now, lastAt: now });
    }
    this.schedule();
  }

  /** True when the object may have another event of its own. */
  private spend(uid: string): boolean {
    const nowMs = performance.now();
    const budget = this.budgets.get(uid) ?? { tokens: BURST, atMs: nowMs };
    const refilled = Math.min(BURST, budget.tokens + (nowMs - budget.atMs) / REFILL_MS);
    remember(this.budgets, uid, { tokens: Math.max(0, refilled - 1), atMs: nowMs });
    return refilled >= 1;
  }

  private schedule(): void {
    if (this.timer !== undefined || this.parts.signal.aborted) return;
    const { gatherMs = GATHER_MS } = this.parts;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.flush().catch((error: unknown) => {
        this.parts.log.error({ err: error }, 'events were not written: a fault of cpusetd');
      });
    }, gatherMs).unref();
  }

  private async flush(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      if (this.dropped > 0) this.parts.log.warn({ events: this.dropped }, 'events were not written: too many at once');
      this.dropped = 0;
      for (const [key, waiting] of [...this.waiting]) {
        if (this.parts.signal.aborted) break;
        this.waiting.delete(key);
        await this.send(key, waiting);
      }
    } finally {
      this.sending = false;
      if (this.waiting.size > 0) this.schedule();
    }
  }

  private async send(key: string, waiting: Waiting): Promise<void> {
    const before = this.written.get(key);
    let verb = 'patch';
    try {
      if (before && (await this.countUp(before, waiting))) return;
      verb = 'create';
      remember(this.written, key, await this.create(waiting));
      this.problem.clear();
    } catch (error) {
      if (this.rights.note(error, { verb, resource: 'events', lost: 'pods and the Node have no events of cpusetd' }))
        return;
      const isFinal = error instanceof KubeError && error.status >= 400 && error.status < 500 && error.status !== 429;
      const because = explainKubeError(error);
      this.parts.log.debug(
        { because, reason: waiting.event.reason, about: referenceTo(waiting.event).name },
        'event not written',
      );
      // An admission policy of the cluster refuses it, and will refuse the next one.
      if (isRefused(error) && this.problem.isNew(because)) this.parts.log.warn({ because }, 'events can’t be written');
      if (!isFinal && ++waiting.tries < MAX_TRIES && !this.waiting.has(key)) this.waiting.set(key, waiting);
    }
  }

  /** False when the event has expired in the API server, as they do after an hour. */
  private async countUp(before: Written, { count, lastAt }: Waiting): Promise<boolean> {
    try {
      const body = { count: before.count + count, lastTimestamp: lastAt };
      await this.parts.client.send({ method: 'PATCH', path: before.path, contentType: MERGE_PATCH, body });
      before.count += count;
      return true;
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return false;
      throw error;
    }
  }

  private async create({ event, count, firstAt, lastAt }: Waiting): Promise<Written> {
    const { client, nodeName } = this.parts;
    const { type, reason, message } = event;
    const about = referenceTo(event);
    const namespace = about.namespace ?? 'default'; // where the kubelet's Events on Nodes are
    const collection = `/api/v1/namespaces/${namespace}/events`;
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${about.name.slice(0, 230)}.${randomBytes(8).toString('hex')}`, namespace },
      involvedObject: about,
      type,
      reason,
      message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message,
      count,
      firstTimestamp: firstAt,
      lastTimestamp: lastAt,
      source: { component: 'cpusetd', host: nodeName },
      reportingComponent: 'cpusetd',
      reportingInstance: nodeName,
    };
    const made = asObject(await client.send({ method: 'POST', path: collection, body }));
    return { path: `${collection}/${asString(asObject(made['metadata'])['name']) || body.metadata.name}`, count };
  }
}

interface ObjectReference {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod' | 'Node';
  readonly uid: string;
  readonly namespace?: string;
  readonly name: string;
  readonly fieldPath?: string;
}

/** The object that the event is about. */
function referenceTo(event: EventMessage): ObjectReference {
  // `kubectl describe node` looks for the name of the Node as uid too, and clients that know the name need no uid.
  if ('node' in event) return { apiVersion: 'v1', kind: 'Node', uid: event.node, name: event.node };
  const { pod, container } = event;
  const fieldPath = container !== undefined && { fieldPath: `spec.containers{${container}}` };
  return { apiVersion: 'v1', kind: 'Pod', ...pod, ...fieldPath };
}

const isRefused = (error: unknown): boolean => error instanceof KubeError && error.status === 422;

/** Keeps the newest of a bounded number. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!);
}

import type { Logger } from 'pino';
import { BackOff } from '../api/back-off';
import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { hasSameMeaning } from './same-meaning';
import type { Fields, NodeIdentity, Report, TopologyKind } from './topology-kind';

export interface TopologyPublisherParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly kind: TopologyKind;
  readonly nodeName: string;
  /** The node as the API server has it. May reject with KubeError. */
  readonly readNode: () => Promise<NodeIdentity>;
  /** What there is to say now; undefined while it is not known. */
  readonly report: (node: NodeIdentity) => Report | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Changes within this time are written as one. */
  readonly debounceMs?: number;
  /** When the object and the node are read again although nothing changed here: somebody may have touched them. */
  readonly refreshMs?: number;
  /** What only an administrator can put right is tried again after this time. */
  readonly notAllowedMs?: number;
}

const DEBOUNCE_MS = 30;
const REFRESH_MS = 5 * 60_000;
const NOT_ALLOWED_MS = 30_000;

/**
 * Keeps the node's object in the API server saying what is true here: created when absent, patched when it means something
 * else, left alone otherwise. Every write names the version that it was decided on, so nobody is overwritten unseen.
 */
export class TopologyPublisher {
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private stored: JsonObject | undefined;
  private node: NodeIdentity | undefined;
  private readAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private dueMs = Infinity;
  private running = false;
  private again = false;
  private lastProblem = '';
  private writers = 0;

  constructor(private readonly parts: TopologyPublisherParts) {
    parts.signal.addEventListener('abort', () => clearTimeout(this.timer), { once: true });
  }

  /** Something may have changed. Never waits, never throws. */
  touch(): void {
    if (this.running) this.again = true;
    else if (this.lastProblem === '') this.schedule(this.parts.debounceMs ?? DEBOUNCE_MS); // else a retry is due anyway
  }

  private schedule(waitMs: number): void {
    const dueMs = performance.now() + waitMs;
    if (this.parts.signal.aborted || dueMs >= this.dueMs) return;
    clearTimeout(this.timer);
    this.dueMs = dueMs;
    this.timer = setTimeout(() => {
      this.run().catch((error: unknown) => this.parts.log.error({ err: error }, 'node topology: a fault of cpusetd'));
    }, waitMs);
  }

  private async run(): Promise<void> {
    this.dueMs = Infinity;
    this.running = true;
    this.again = false;
    let waitMs = this.parts.refreshMs ?? REFRESH_MS;
    try {
      await this.publish();
      this.backOff.reset();
      if (this.lastProblem !== '') this.parts.log.info(this.facts(), 'node topology is published again');
      this.lastProblem = '';
      if (this.again) waitMs = this.parts.debounceMs ?? DEBOUNCE_MS;
    } catch (error) {
      this.stored = undefined; // whatever it is, read it again
      waitMs = this.noteProblem(error);
    }
    this.running = false;
    this.schedule(waitMs);
  }

  /** Once, unless somebody else wrote in between. */
  private async publish(): Promise<void> {
    const { report, kind, log } = this.parts;
    if (
      performance.now() - this.readAtMs >= (this.parts.refreshMs ?? REFRESH_MS) ||
      this.node === undefined ||
      this.stored === undefined
    ) {
      this.node = await this.parts.readNode();
      this.stored = await this.read();
      this.readAtMs = performance.now();
    }
    for (let conflicts = 0; ; conflicts++) {
      const now = report(this.node);
      if (now === undefined) return;
      const fields = kind.build(now);
      const wanted = { ...fields, metadata: { ownerReferences: ownersOf(now.node) } };
      if (this.stored !== undefined && says(this.stored, fields, now.node)) return;
      try {
        this.stored = asObject(
          this.stored === undefined ? await this.create(wanted) : await this.patch(this.stored, wanted),
        );
        log.debug(this.facts(), 'node topology is published');
        return;
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 409 || conflicts >= 3) throw error;
        if (++this.writers === 3)
          log.warn(this.facts(), 'somebody else writes the topology of this node too; let only one do it');
        this.stored = await this.read();
      }
    }
  }

  private async read(): Promise<JsonObject | undefined> {
    const { client, kind, nodeName } = this.parts;
    try {
      return asObject(await client.send({ method: 'GET', path: `${kind.path}/${nodeName}` }));
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined; // or the kind is: creating will tell
      throw error;
    }
  }

  private create(wanted: Fields & { readonly metadata: object }): Promise<unknown> {
    const { client, kind, nodeName } = this.parts;
    return client.send({
      method: 'POST',
      path: kind.path,
      body: {
        apiVersion: kind.apiVersion,
        kind: 'NodeResourceTopology',
        ...wanted,
        metadata: { ...wanted.metadata, name: nodeName },
      },
    });
  }

  private patch(stored: JsonObject, wanted: Fields & { readonly metadata: object }): Promise<unknown> {
    const { client, kind, nodeName } = this.parts;
    const { resourceVersion } = asObject(stored['metadata']);
    return client.send({
      method: 'PATCH',
      path: `${kind.path}/${nodeName}`,
      contentType: MERGE_PATCH,
      body: { ...wanted, metadata: { ...wanted.metadata, resourceVersion } },
    });
  }

  /** Logs a problem once, and says when to try again. */
  private noteProblem(error: unknown): number {
    const status = error instanceof KubeError ? error.status : 0;
    const because = status === 404 ? this.explainMissingKind() : explainKubeError(error);
    if (because !== this.lastProblem && !this.parts.signal.aborted)
      this.parts.log.warn({ ...this.facts(), because }, 'node topology can’t be published; trying again');
    this.lastProblem = because;
    const needsAdmin = status === 401 || status === 403 || status === 404 || status === 422;
    const atLeastMs = error instanceof KubeError ? error.retryAfterMs : undefined;
    return this.backOff.next(needsAdmin ? (this.parts.notAllowedMs ?? NOT_ALLOWED_MS) : atLeastMs);
  }

  private explainMissingKind(): string {
    const { apiVersion } = this.parts.kind;
    return `the API server does not know NodeResourceTopology of ${apiVersion} (404): apply its definition from deploy/crds`;
  }

  private facts() {
    return { topology: this.parts.kind.name, node: this.parts.nodeName };
  }
}

function ownersOf({ name, uid }: NodeIdentity): readonly JsonObject[] {
  return uid === '' ? [] : [{ apiVersion: 'v1', kind: 'Node', name, uid }];
}

/** Whether the stored object says it already; what others put beside our fields does not matter. */
function says(stored: JsonObject, fields: Fields, node: NodeIdentity): boolean {
  const owners = asArray(asObject(stored['metadata'])['ownerReferences']).map(asObject);
  return (
    Object.entries(fields).every(([key, value]) => hasSameMeaning(stored[key], value, key === 'reserved')) &&
    (node.uid === '' || owners.some((owner) => asString(owner['uid']) === node.uid))
  );
}

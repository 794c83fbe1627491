import type { Logger } from 'pino';
import { BackOff } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import { MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';
import { asObject, resourceVersionOf, type JsonObject } from '../json';
import { buildObject, patchFor } from './object-patch';
import { semanticEqual } from '../objects/semantic-equal';
import type { Report, TopologyKind } from './topology-resource';
import type { NodeIdentity } from '../objects/owner-reference';

export interface TopologyPublisherParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly kind: TopologyKind;
  readonly nodeName: string;
  /** The Node of the API server; while it is undefined nothing is written. */
  readonly node: () => NodeIdentity | undefined;
  /** Content to publish now; undefined while it is not known. */
  readonly report: (node: NodeIdentity) => Report | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Changes within this time are written as one. */
  readonly debounceMs?: number;
  /** The object is read again after this time without a change here: others may have changed it. */
  readonly refreshMs?: number;
  /** Pause after a fault that only an administrator can correct. */
  readonly notAllowedMs?: number;
}

const DEBOUNCE_MS = 30;
const REFRESH_MS = 5 * 60_000;
const NOT_ALLOWED_MS = 30_000;

/**
 * Keeps the node's object in the API server up to date: creates it when absent, patches it when our fields differ.
 * Fields of others stay. Every write names the version that it is based on, so it never overwrites another writer's
 * change.
 */
export class TopologyPublisher {
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: 30_000 });
  private readonly rights: MissingRights;
  private stored: JsonObject | undefined;
  /** The part of a write that the server did not store, and the version of the object then; it is not sent again. */
  private unkept: { readonly version: string; readonly patch: string } | undefined;
  private verb = '';
  private readAtMs = -Infinity;
  private readonly timer: EarliestTimer;
  private isRunning = false;
  private readonly problem = new LastProblem();
  private writers = 0;

  constructor(private readonly parts: TopologyPublisherParts) {
    this.rights = new MissingRights(parts.log);
    this.timer = new EarliestTimer(
      () => this.run().catch((error: unknown) => parts.log.error({ err: error }, 'node topology: a fault of cpusetd')),
      parts.signal,
    );
  }

  /** Something may have changed. Never waits, never throws. */
  touch(): void {
    if (this.problem.isSet && !this.isRunning) return; // a retry is due anyway
    this.timer.startIn(this.parts.debounceMs ?? DEBOUNCE_MS);
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    try {
      await this.publish();
      this.backOff.reset();
      if (this.problem.clear()) this.parts.log.info(this.facts(), 'node topology is published again');
      this.timer.startIn(this.parts.refreshMs ?? REFRESH_MS);
    } catch (error) {
      this.stored = undefined; // read it again
      this.timer.restartIn(this.noteProblem(error));
    }
    this.isRunning = false;
  }

  /** Publishes once, and again when another writer wrote in between. */
  private async publish(): Promise<void> {
    if (this.reportNow() === undefined) return;
    if (this.stored === undefined || performance.now() - this.readAtMs >= (this.parts.refreshMs ?? REFRESH_MS)) {
      this.stored = await this.read();
      this.readAtMs = performance.now();
    }
    for (let conflicts = 0; ; conflicts++) {
      const now = this.reportNow();
      if (now === undefined) return;
      try {
        if (await this.write(now)) this.parts.log.debug(this.facts(), 'node topology is published');
        return;
      } catch (error) {
        const status = error instanceof KubeError ? error.status : 0;
        const isGone = status === 404 && this.stored !== undefined;
        if (!(isGone || status === 409) || conflicts >= 3) throw error;
        const before = this.stored;
        this.stored = await this.read();
        if (status === 409) this.noteConflict(before, this.stored);
      }
    }
  }

  /** A change of the metadata alone is none of another publisher: the extender notes there which pods it binds. */
  private noteConflict(before: JsonObject | undefined, after: JsonObject | undefined): void {
    const isSame = before && after && semanticEqual({ ...before, metadata: null }, { ...after, metadata: null });
    if (isSame !== true && ++this.writers === 3)
      this.parts.log.warn(this.facts(), 'somebody else writes the topology of this node too; let only one do it');
  }

  private reportNow(): Report | undefined {
    const node = this.parts.node();
    return node && this.parts.report(node);
  }

  private async read(): Promise<JsonObject | undefined> {
    const { kind, nodeName } = this.parts;
    try {
      return await this.send('get', { method: 'GET', path: `${kind.path}/${nodeName}` });
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined; // or the kind is missing, which the creation reports
      throw error;
    }
  }

  /** False when the stored object is up to date. */
  private async write(now: Report): Promise<boolean> {
    const { kind, nodeName } = this.parts;
    if (this.stored === undefined) {
      const body = buildObject(kind, now);
      this.stored = await this.send('create', { method: 'POST', path: kind.path, body });
    } else {
      const patch = patchFor(this.stored, kind, now);
      const version = resourceVersionOf(this.stored);
      if (Object.keys(patch).length === 0) return false;
      if (this.unkept?.version === version && this.unkept.patch === JSON.stringify(patch)) return false;
      const metadata = { ...asObject(patch['metadata']), resourceVersion: version };
      const body = { ...patch, metadata };
      const path = `${kind.path}/${nodeName}`;
      this.stored = await this.send('patch', { method: 'PATCH', path, contentType: MERGE_PATCH, body });
    }
    this.noteUnkept(this.stored, now);
    return true;
  }

  /** Notes fields that the server did not store: a definition of another version may drop fields or insert defaults. */
  private noteUnkept(stored: JsonObject, now: Report): void {
    const patch = patchFor(stored, this.parts.kind, now);
    const fields = Object.keys(patch);
    if (fields.length === 0) {
      this.unkept = undefined;
      return;
    }
    if (this.unkept === undefined)
      this.parts.log.warn(
        { ...this.facts(), fields },
        'the API server does not keep what is published: apply the definition from deploy/crds',
      );
    this.unkept = { version: resourceVersionOf(stored), patch: JSON.stringify(patch) };
  }

  private async send(verb: string, call: Parameters<KubeClient['send']>[0]): Promise<JsonObject> {
    this.verb = verb;
    return asObject(await this.parts.client.send(call));
  }

  /** Logs a problem once. Returns the milliseconds until the next try. */
  private noteProblem(error: unknown): number {
    const status = error instanceof KubeError ? error.status : 0;
    const because = status === 404 ? this.explainMissingKind() : explainKubeError(error);
    const isNew = this.problem.isNew(because) && !this.parts.signal.aborted;
    const right = { verb: this.verb, resource: this.resource(), lost: 'schedulers do not see what is left where' };
    if (isNew && !this.rights.note(error, right))
      this.parts.log.warn({ ...this.facts(), because }, 'node topology can’t be published; trying again');
    const needsAdmin = status === 401 || status === 403 || status === 404 || status === 422;
    const atLeastMs = error instanceof KubeError ? error.retryAfterMs : undefined;
    return this.backOff.next(needsAdmin ? (this.parts.notAllowedMs ?? NOT_ALLOWED_MS) : atLeastMs);
  }

  private resource(): string {
    const [group] = this.parts.kind.apiVersion.split('/');
    return `noderesourcetopologies.${group}`;
  }

  private explainMissingKind(): string {
    const { apiVersion } = this.parts.kind;
    return `the API server does not know NodeResourceTopology of ${apiVersion} (404): apply its definition from deploy/crds`;
  }

  private facts() {
    return { topology: this.parts.kind.name, node: this.parts.nodeName };
  }
}

import type { Logger } from 'pino';
import { explainKubeError, KubeError, MERGE_PATCH, ONLY_METADATA, type KubeClient, type Leadership } from '../../kube';
import { BackOff, backOffMs } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import type { AnnotatorMetrics } from './metrics';

/** The value of an annotation that is to be written. */
export interface AnnotationValue {
  readonly text: string;
  /** Time that the text says it is of. */
  readonly stampMs: number;
  /** Time after `stampMs` at which readers take it for too old. */
  readonly validForMs: number;
}

export type AnnotationValues = ReadonlyMap<string, AnnotationValue>;

export interface AnnotationWriterParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly leadership: Leadership;
  /** Most patches at once. */
  readonly parallel: number;
  /** Nothing is sent, only counted and logged. */
  readonly isDryRun: boolean;
  /** Values that may as well go with a patch that is sent for others. */
  readonly listExtras: (node: string) => AnnotationValues;
  /** The API server knows no Node of this name. */
  readonly onGone: (node: string) => void;
  readonly metrics: Pick<AnnotatorMetrics, 'countPatch' | 'countDropped' | 'setPending'>;
  /** Wall clock. */
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Back-off of one node, as crane-scheduler's queue has it. */
const NODE_BACK_OFF = { leastMs: 10_000, mostMs: 360_000 };
/** Back-off of all when the API server is away or asks to slow down. */
const SERVER_BACK_OFF = { leastMs: 1_000, mostMs: 30_000 };
/** Nodes whose time has come within the same slot are taken together. */
const SLOT_MS = 100;
/** One line at most in this time says that single nodes can't be written. */
const WARN_MS = 60_000;
/** A stamp may be so far ahead of our clock. */
const AHEAD_MS = 5_000;

interface Pending {
  values: Map<string, AnnotationValue>;
  /** By the monotonic clock. */
  dueMs: number;
  /** Sending has failed: it is not tried before this time. */
  notBeforeMs: number;
  failures: number;
  isSending: boolean;
}

/**
 * Writes annotations of Nodes: one JSON merge patch for all that is due of a node, a bounded number of patches at once.
 * An annotation that could not be written waits and is tried again; of two values of an annotation the newer is kept;
 * one that has grown too old while it waited is dropped. No patch is sent when the lease is lost.
 */
export class AnnotationWriter {
  private readonly pending = new Map<string, Pending>();
  private readonly ready: string[] = [];
  private readonly timer: EarliestTimer;
  private readonly serverBackOff = new BackOff(SERVER_BACK_OFF);
  private readonly problem = new LastProblem();
  private sending = 0;
  private pausedUntilMs = Infinity;
  private warnedMs = -Infinity;

  constructor(private readonly parts: AnnotationWriterParts) {
    this.timer = new EarliestTimer(() => this.pump(), parts.leadership.signal);
  }

  /** Nothing is sent before this call. */
  start(): void {
    this.pausedUntilMs = -Infinity;
    this.timer.startIn(0);
  }

  /** Has the values written after this time, or sooner when others of the node are due sooner. */
  put(node: string, values: AnnotationValues, delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    const known = this.pending.get(node);
    if (known) {
      for (const [key, value] of values) known.values.set(key, value);
      known.dueMs = Math.min(known.dueMs, dueMs);
    } else {
      const fresh = { notBeforeMs: -Infinity, failures: 0, isSending: false };
      this.pending.set(node, { values: new Map(values), dueMs, ...fresh });
    }
    this.parts.metrics.setPending(this.pending.size);
    this.timer.startIn(Math.ceil(delayMs / SLOT_MS) * SLOT_MS);
  }

  /** Drops what waits for the node. */
  forget(node: string): void {
    this.pending.delete(node);
    this.parts.metrics.setPending(this.pending.size);
  }

  private pump(): void {
    const now = performance.now();
    if (now < this.pausedUntilMs) {
      if (this.pausedUntilMs < Infinity) this.timer.startIn(this.pausedUntilMs - now);
      return;
    }
    let nextMs = Infinity;
    this.ready.length = 0;
    for (const [node, { dueMs, notBeforeMs, isSending }] of this.pending) {
      const atMs = Math.max(dueMs, notBeforeMs);
      if (isSending) continue;
      if (atMs <= now + SLOT_MS) this.ready.push(node);
      else nextMs = Math.min(nextMs, atMs);
    }
    if (nextMs < Infinity) this.timer.startIn(nextMs - now);
    this.fill();
  }

  /** Begins as many patches as may be. */
  private fill(): void {
    const { leadership, parallel, log } = this.parts;
    while (this.sending < parallel && performance.now() >= this.pausedUntilMs && !leadership.signal.aborted) {
      const node = this.ready.shift();
      if (node === undefined) return;
      const pending = this.pending.get(node);
      if (!pending || pending.isSending) continue;
      this.sending++;
      pending.isSending = true;
      this.write(node, pending)
        .catch((error: unknown) => log.error({ err: error, node }, 'writing annotations failed: a fault of cpusetd'))
        .finally(() => {
          this.sending--;
          pending.isSending = false;
          if (this.ready.length > 0) this.fill();
          else this.timer.startIn(0);
        });
    }
  }

  private async write(node: string, pending: Pending): Promise<void> {
    const { listExtras, metrics } = this.parts;
    pending.dueMs = Infinity; // what is put from now on has a time of its own
    for (const [key, value] of listExtras(node)) pending.values.set(key, value);
    const values = this.takeFresh(pending);
    if (values.size > 0) {
      try {
        await this.send(node, values);
      } catch (error) {
        this.noteFailure(node, pending, values, error);
        return;
      }
      pending.failures = 0;
      this.serverBackOff.reset();
      if (this.problem.clear()) this.parts.log.info('annotations can be written again');
    }
    if (pending.values.size === 0 && this.pending.get(node) === pending) this.pending.delete(node);
    metrics.setPending(this.pending.size);
  }

  /** Takes all values out; drops those that readers would not believe. */
  private takeFresh(pending: Pending): Map<string, AnnotationValue> {
    const { metrics, nowMs } = this.parts;
    const now = nowMs();
    const values = pending.values;
    pending.values = new Map();
    for (const [key, { stampMs, validForMs }] of values) {
      const reason = now >= stampMs + validForMs ? 'old' : stampMs > now + AHEAD_MS ? 'future' : undefined;
      if (reason === undefined) continue;
      values.delete(key);
      metrics.countDropped(reason);
    }
    return values;
  }

  private async send(node: string, values: AnnotationValues): Promise<void> {
    const { client, leadership, isDryRun, metrics, log } = this.parts;
    const annotations = Object.fromEntries([...values].map(([key, { text }]) => [key, text]));
    if (isDryRun) {
      metrics.countPatch('dry-run');
      log.info({ node, annotations }, 'would be written');
      return;
    }
    await client.send({
      method: 'PATCH',
      path: `/api/v1/nodes/${encodeURIComponent(node)}`,
      contentType: MERGE_PATCH,
      accept: ONLY_METADATA,
      body: { metadata: { annotations } },
      beforeSend: leadership.assertHeld,
    });
    metrics.countPatch('ok');
    log.debug({ node, annotations }, 'annotations written');
  }

  private noteFailure(node: string, pending: Pending, values: AnnotationValues, error: unknown): void {
    const { leadership, metrics, log, onGone } = this.parts;
    if (leadership.signal.aborted) return;
    const { status, retryAfterMs } = error instanceof KubeError ? error : { status: 0, retryAfterMs: undefined };
    if (status === 404) {
      metrics.countPatch('gone');
      this.forget(node);
      onGone(node);
      return;
    }
    metrics.countPatch('error');
    for (const [key, value] of values) if (!pending.values.has(key)) pending.values.set(key, value);
    const now = performance.now();
    pending.dueMs = now;
    const because = status === 403 ? FORBIDDEN : explainKubeError(error);
    if (status === 0 || status === 401 || status === 429 || status >= 500) this.pauseAll(because, retryAfterMs);
    else {
      const waitMs = Math.max(retryAfterMs ?? 0, backOffMs(pending.failures++, NODE_BACK_OFF));
      pending.notBeforeMs = now + waitMs;
      this.timer.startIn(waitMs);
      const isQuiet = now < this.warnedMs + WARN_MS;
      if (!isQuiet) this.warnedMs = now;
      log[isQuiet ? 'debug' : 'warn'](
        { node, because, status, waitMs },
        'a node’s annotations can’t be written; trying again',
      );
    }
  }

  /** The next node would fail as well. */
  private pauseAll(because: string, retryAfterMs: number | undefined): void {
    const now = performance.now();
    if (now < this.pausedUntilMs) return; // one of several that failed at once
    const waitMs = this.serverBackOff.next(retryAfterMs);
    this.pausedUntilMs = now + waitMs;
    this.timer.startIn(waitMs);
    if (this.problem.isNew(because))
      this.parts.log.warn({ because, waitMs }, 'annotations can’t be written; trying again');
  }
}

const FORBIDDEN =
  'the API server forbids to patch nodes: give the annotator the verb patch for nodes, see the ClusterRole in deploy/scheduling';

import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { LastProblem } from '../../net/connection-state';
import { pause } from '../../net/pause';
import { asObject, type JsonObject } from '../json';
import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import { formatMicroTime, readLease, writeLease, type LeaseRecord } from './lease';

export interface LeaseTimes {
  /** Another candidate takes the lease when it was not renewed for this time. */
  readonly leaseDurationMs: number;
  /** The leader gives up when it could not renew for this time; shorter than the lease duration. */
  readonly renewDeadlineMs: number;
  /** Time between two tries. */
  readonly retryPeriodMs: number;
}

export interface LeaderElectionParts extends LeaseTimes {
  /** Not ended by `signal`: the lease is released after it. */
  readonly client: Pick<KubeClient, 'send'>;
  readonly namespace: string;
  readonly name: string;
  /** Different for each process that ever takes part. */
  readonly identity: string;
  readonly log: Logger;
  /** Asks for the orderly end: the work is ended, then the lease is released. */
  readonly signal: AbortSignal;
  /** Monotonic clock in ms. */
  readonly nowMs?: () => number;
}

/** The right of one process to write. */
export interface Leadership {
  /** Aborts when the lease is lost, or the process is to end. */
  readonly signal: AbortSignal;
  /**
   * Throws KubeError when no write may start any more. It asks the monotonic clock, since a process that was paused
   * runs its other code before its timers may notice the loss.
   */
  readonly assertHeld: () => void;
}

/** The leadership of a process that has no rivals: it lasts until the signal aborts. */
export function unrivalled(signal: AbortSignal): Leadership {
  return {
    signal,
    assertHeld: () => {
      if (signal.aborted) throw lostError('the process ends');
    },
  };
}

/** No candidate of ours asks for more. */
const LONGEST_LEASE_S = 3_600;
/** client-go's JitterFactor: candidates do not ask in step. */
const JITTER = 1.2;

/**
 * Returns the rules that the times break, in words for the operator. Those of client-go, and one more: a Lease has
 * whole seconds. What was cut off would be missing for others: they would take the lease while its holder may still
 * write.
 */
export function checkLeaseTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: LeaseTimes): string[] {
  return [
    ...(leaseDurationMs % 1_000 === 0 ? [] : ['the lease duration must be whole seconds']),
    ...(leaseDurationMs <= renewDeadlineMs ? ['the lease duration must be longer than the renew deadline'] : []),
    ...(renewDeadlineMs <= JITTER * retryPeriodMs
      ? [`the renew deadline must be longer than ${JITTER} times the retry period`]
      : []),
  ];
}

/**
 * Waits until this process holds the lease, runs the work, and keeps the lease meanwhile. Resolves with `ended` when
 * the work has ended or the signal has aborted, with `lost` when the lease could not be renewed in time or another
 * holds it. Rejects when the work rejects.
 *
 * The algorithm is that of client-go (tools/leaderelection). Times of other processes are never compared with our
 * clock: a lease counts as held for its duration after *we* last saw it change.
 */
export async function leadWhileHeld(
  parts: LeaderElectionParts,
  work: (leadership: Leadership) => Promise<void>,
): Promise<'ended' | 'lost'> {
  const candidate = new Candidate(parts);
  if (!(await candidate.acquire())) return 'ended';
  const end = new AbortController();
  const isOver = (): boolean => end.signal.aborted || !candidate.isHeld;
  const working = work({
    signal: end.signal,
    assertHeld: () => {
      if (isOver()) throw lostError('the lease is not ours any more');
    },
  }).finally(() => end.abort());
  working.catch(() => undefined); // it is awaited below
  const stop = (): void => end.abort();
  parts.signal.addEventListener('abort', stop, { once: true });
  if (parts.signal.aborted) stop();
  await candidate.keep(end.signal);
  const outcome = end.signal.aborted ? 'ended' : 'lost';
  parts.signal.removeEventListener('abort', stop);
  end.abort();
  try {
    await working;
  } finally {
    await candidate.release();
  }
  return outcome;
}

function lostError(because: string): KubeError {
  return new KubeError(`nothing is written any more: ${because}`, 0, { reason: 'LeaseLost' });
}

/** One process that wants the lease. */
class Candidate {
  private readonly nowMs: () => number;
  private readonly path: string;
  private readonly problem = new LastProblem();
  /** The Lease as it was last read or written. */
  private object: JsonObject | undefined;
  private observed: LeaseRecord | undefined;
  /** Time of the last change that we saw. */
  private observedMs = 0;
  /** Time until which writes may start; before it every other candidate still waits. */
  private heldUntilMs = -Infinity;
  private reported = '';

  constructor(private readonly parts: LeaderElectionParts) {
    this.nowMs = parts.nowMs ?? (() => performance.now());
    this.path = `/apis/coordination.k8s.io/v1/namespaces/${parts.namespace}/leases`;
  }

  get isHeld(): boolean {
    return this.nowMs() < this.heldUntilMs;
  }

  /** Resolves with true when we hold the lease, with false when the signal has aborted. */
  async acquire(): Promise<boolean> {
    const { signal, retryPeriodMs, renewDeadlineMs, log, identity, namespace, name } = this.parts;
    log.info({ lease: `${namespace}/${name}`, identity }, 'waiting for the lease');
    while (!signal.aborted) {
      if (await this.tryOnce(renewDeadlineMs)) {
        log.info({ lease: `${namespace}/${name}`, identity }, 'the lease is ours: leading');
        return true;
      }
      await pause(retryPeriodMs * (1 + JITTER * Math.random()), signal);
    }
    return false;
  }

  /** Renews the lease until the signal aborts or the lease is lost. */
  async keep(signal: AbortSignal): Promise<void> {
    const { retryPeriodMs, log } = this.parts;
    while (!signal.aborted) {
      await pause(Math.min(retryPeriodMs, Math.max(0, this.heldUntilMs - this.nowMs())), signal);
      if (signal.aborted) return;
      if (this.isHeld) await this.tryOnce(this.heldUntilMs - this.nowMs());
      if (this.isHeld) continue;
      const { holder = '' } = this.observed ?? {};
      const because =
        holder === '' || holder === this.parts.identity ? 'it could not be renewed in time' : `${holder} holds it`;
      log.error({ because }, 'the lease is lost: nothing is written any more');
      return;
    }
  }

  /** Gives the lease up, so that another candidate need not wait. Never rejects. */
  async release(): Promise<void> {
    const { log, identity } = this.parts;
    if (!this.isHeld || this.observed?.holder !== identity) return;
    const now = formatMicroTime(Date.now());
    try {
      await this.put({ ...this.observed, holder: '', leaseDurationS: 1, acquireTime: now, renewTime: now });
      this.heldUntilMs = -Infinity;
      log.info('the lease is released');
    } catch (error) {
      log.warn({ because: explainKubeError(error) }, 'the lease could not be released: it expires by itself');
    }
  }

  /** One try to acquire or to renew. True when we hold the lease now. */
  private async tryOnce(limitMs: number): Promise<boolean> {
    const begunMs = this.nowMs();
    try {
      const isOurs = await this.acquireOrRenew(begunMs, limitMs);
      // From the beginning of the try: all others saw the renewal later than that.
      if (isOurs) this.heldUntilMs = begunMs + this.parts.renewDeadlineMs;
      if (this.problem.clear()) this.parts.log.info('the lease can be read and written again');
      return isOurs;
    } catch (error) {
      this.noteFailure(error);
      return false;
    }
  }

  private async acquireOrRenew(begunMs: number, limitMs: number): Promise<boolean> {
    const { identity } = this.parts;
    const timeoutMs = Math.max(1, Math.min(limitMs, this.parts.renewDeadlineMs / 2));
    // The holder need not read what it has written itself.
    if (this.isHeld && this.observed?.holder === identity) {
      try {
        await this.put(this.nextRecord(this.observed), timeoutMs);
        return true;
      } catch (error) {
        if (!(error instanceof KubeError && [404, 409].includes(error.status))) throw error;
      }
    }
    const found = await this.read(timeoutMs);
    if (found === undefined) {
      await this.create(timeoutMs);
      return true;
    }
    this.observe(found);
    const { holder, leaseDurationS } = this.observed!;
    if (holder !== '' && holder !== identity) {
      this.heldUntilMs = -Infinity;
      if (begunMs < this.observedMs + leaseDurationS * 1000) return false;
    }
    await this.put(this.nextRecord(this.observed!), timeoutMs);
    return true;
  }

  private nextRecord({ holder, acquireTime, transitions }: LeaseRecord): LeaseRecord {
    const { identity, leaseDurationMs } = this.parts;
    const now = formatMicroTime(Date.now());
    const isOurs = holder === identity;
    return {
      holder: identity,
      leaseDurationS: Math.ceil(leaseDurationMs / 1000),
      acquireTime: isOurs ? acquireTime : now,
      renewTime: now,
      transitions: isOurs ? transitions : transitions + 1,
    };
  }

  private async read(timeoutMs: number): Promise<JsonObject | undefined> {
    try {
      const path = `${this.path}/${this.parts.name}`;
      return asObject(await this.parts.client.send({ method: 'GET', path, timeoutMs }));
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  private async create(timeoutMs: number): Promise<void> {
    const { namespace, name } = this.parts;
    const none = { holder: '', leaseDurationS: 0, acquireTime: '', renewTime: '', transitions: -1 };
    const body = writeLease({ metadata: { namespace, name } }, this.nextRecord(none));
    this.observe(asObject(await this.parts.client.send({ method: 'POST', path: this.path, body, timeoutMs })));
  }

  /** The object has the resource version that we saw: when another wrote meanwhile, the API server answers 409. */
  private async put(record: LeaseRecord, timeoutMs?: number): Promise<void> {
    const answer = await this.parts.client.send({
      method: 'PUT',
      path: `${this.path}/${this.parts.name}`,
      body: writeLease(this.object ?? {}, record),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    this.observe(asObject(answer));
  }

  private observe(object: JsonObject): void {
    const record = readLease(object);
    this.object = object;
    if (!isDeepStrictEqual(record, this.observed)) {
      this.observed = record;
      this.observedMs = this.nowMs();
    }
    if (record.holder === this.reported) return;
    this.reported = record.holder;
    if (record.holder === this.parts.identity || record.holder === '') return;
    this.parts.log.info({ leader: record.holder }, 'another process leads');
    const { holder, leaseDurationS } = record;
    if (leaseDurationS > LONGEST_LEASE_S)
      this.parts.log.warn(
        { leader: holder, leaseDurationS, lease: this.path },
        'the lease is held for long: delete it if its holder has ended',
      );
  }

  private noteFailure(error: unknown): void {
    const { log, namespace, name } = this.parts;
    const because = explainKubeError(error);
    // Two candidates that write at once are no problem: one of them gets 409.
    if (error instanceof KubeError && error.status === 409) log.debug({ because }, 'another process wrote the lease');
    else if (this.problem.isNew(because))
      log.warn({ lease: `${namespace}/${name}`, because }, 'the lease could not be read or written; trying again');
  }
}

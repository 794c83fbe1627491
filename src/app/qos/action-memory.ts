import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Throttle } from '../../qos/avoidance/situation';
import { DurableNote, qosActionsFormat, type FsOps, type QosActions } from '../../state';

const QOS_FILE = 'qos-actions.json';
const HOUR_MS = 3_600_000;

/** True when an earlier process left actions to undo, as far as is known. */
export function hasActionMemory(stateDir: string): boolean {
  return existsSync(join(stateDir, QOS_FILE));
}

/** The part of the hour's budget that is spent. */
export interface Spent {
  readonly actions: number;
  readonly evictions: number;
}

/**
 * The actions that have to be undone, and those of the last hour, on disk. Everything here is durable before it is done, so that a process
 * that follows a killed one knows it.
 */
export class ActionMemory {
  private readonly note: DurableNote<QosActions>;
  private kept: QosActions;
  private hasLoaded = false;
  private hasFile = false;

  constructor(stateDir: string, bootId: string, fs?: FsOps) {
    this.note = new DurableNote(join(stateDir, QOS_FILE), qosActionsFormat, fs);
    this.kept = { bootId, tainted: false, throttles: [], actionsAtMs: [], evictionsAtMs: [] };
  }

  get path(): string {
    return this.note.path;
  }

  get throttles(): readonly Throttle[] {
    return this.kept.throttles;
  }

  /** The Node has the taint, as far as this process and those before it know. */
  get tainted(): boolean {
    return this.kept.tainted;
  }

  /** True when it is known what earlier processes left. */
  get isLoaded(): boolean {
    return this.hasLoaded;
  }

  /** True while there is something to undo. */
  get isInForce(): boolean {
    return this.tainted || this.throttles.length > 0;
  }

  /**
   * Takes up what earlier processes left. Containers end with the boot, the taint of the Node does not. Of a file that is not ours only the
   * taint can be undone. Throws FAILED_PRECONDITION when there is a file that can't be read.
   */
  load(log: Logger): void {
    const read = this.note.read();
    this.hasLoaded = true;
    this.hasFile = read.kind !== 'missing';
    if (read.kind === 'missing') return;
    if (read.kind === 'broken') {
      log.warn(
        { path: this.path, because: read.because },
        'earlier QoS actions are not known: only the taint is undone',
      );
      this.kept = { ...this.kept, tainted: true };
      return;
    }
    const { bootId } = this.kept;
    this.kept = { ...read.value, bootId, throttles: read.value.bootId === bootId ? read.value.throttles : [] };
  }

  /** Counts what was spent in the hour before `nowMs`. */
  spent(nowMs: number): Spent {
    const { actionsAtMs, evictionsAtMs } = recentOf(this.kept, nowMs);
    return { actions: actionsAtMs.length, evictions: evictionsAtMs.length };
  }

  /** Removes the file when there is nothing to undo, and nothing was spent in the last hour. Throws the system's error. */
  tidy(nowMs: number): void {
    const isNeeded = this.isInForce || this.spent(nowMs).actions > 0;
    if (this.hasFile && !isNeeded) this.save({}, { actions: 0, nowMs });
  }

  /** Returns when these throttles are durable, and that so many actions were taken now. Throws the system's error; nothing is changed then. */
  saveThrottles(throttles: readonly Throttle[], spent: { readonly actions: number; readonly nowMs: number }): void {
    this.save({ throttles }, spent);
  }

  /** The same for the taint of the Node. */
  saveTaint(tainted: boolean, spent: { readonly actions: number; readonly nowMs: number }): void {
    this.save({ tainted }, spent);
  }

  /** The same for one eviction. */
  saveEviction(nowMs: number): void {
    this.save({ evictionsAtMs: [...this.kept.evictionsAtMs, nowMs] }, { actions: 1, nowMs });
  }

  /** Gives an eviction of this time back that was refused. Throws the system's error; then it stays counted. */
  giveBackEviction(atMs: number): void {
    const { actionsAtMs, evictionsAtMs } = this.kept;
    this.save(
      { actionsAtMs: without(actionsAtMs, atMs), evictionsAtMs: without(evictionsAtMs, atMs) },
      { actions: 0, nowMs: atMs },
    );
  }

  private save(
    change: Partial<QosActions>,
    { actions, nowMs }: { readonly actions: number; readonly nowMs: number },
  ): void {
    const changed = { ...this.kept, ...change };
    const next = { ...changed, ...recentOf(changed, nowMs) };
    const now = Array.from({ length: actions }, () => nowMs);
    const saved = { ...next, actionsAtMs: [...next.actionsAtMs, ...now] };
    const isEmpty = !saved.tainted && saved.throttles.length === 0 && saved.actionsAtMs.length === 0;
    if (isEmpty) this.note.forget();
    else this.note.save(saved);
    this.hasFile = !isEmpty;
    this.kept = saved;
  }
}

/**
 * Those of the last hour. What lies in the future was taken before the clock was set back, nobody knows when: it counts as taken now, so that it is
 * not forgotten before an hour is over.
 */
function recentOf(
  { actionsAtMs, evictionsAtMs }: Pick<QosActions, 'actionsAtMs' | 'evictionsAtMs'>,
  nowMs: number,
): Pick<QosActions, 'actionsAtMs' | 'evictionsAtMs'> {
  const recent = (times: readonly number[]): readonly number[] =>
    times.filter((atMs) => nowMs - atMs < HOUR_MS).map((atMs) => Math.min(atMs, nowMs));
  return { actionsAtMs: recent(actionsAtMs), evictionsAtMs: recent(evictionsAtMs) };
}

/** The list without one entry of this time. */
function without(times: readonly number[], atMs: number): readonly number[] {
  const at = times.lastIndexOf(atMs);
  return at < 0 ? times : times.toSpliced(at, 1);
}

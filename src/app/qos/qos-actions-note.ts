import type { Spent } from '../../qos/avoidance/budget';
import { plausibleThrottle } from '../../qos/avoidance/own-throttles';
import type { SpentBudget, Throttle } from '../../qos/avoidance/situation';
import { OWED } from '../owed-effects/owed';
import { OwedNote, type OwedNoteParts } from '../owed-effects/owed-note';
import type { QosActions, SpentAction } from '../owed-effects/qos-actions';

const HOUR_MS = 3_600_000;

/** The cost of a change: an action for each of these namespaces. Empty text = of the Node. */
export interface Spending {
  readonly namespaces: readonly string[];
  readonly nowMs: number;
}

/**
 * The actions that have to be undone, and those of the last hour, on disk. Everything here is durable before it is
 * done, so that a process that follows a killed one knows it.
 */
export class QosActionsNote {
  private readonly note: OwedNote<QosActions>;
  private kept: QosActions;
  private hasLoaded = false;
  private hasFile = false;

  constructor({ bootId, ...parts }: OwedNoteParts & { readonly bootId: string }) {
    this.note = new OwedNote(OWED.qosActions, parts);
    this.kept = { bootId, tainted: false, throttles: [], actions: [], evictions: [] };
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

  /** A note was lost that may have listed throttles: quotas may be lower than they should be. */
  get owesUnknown(): boolean {
    return this.kept.owesUnknown === true;
  }

  /** True when it is known what earlier processes left. */
  get isLoaded(): boolean {
    return this.hasLoaded;
  }

  /** True while there is something to undo. */
  get isInForce(): boolean {
    return this.tainted || this.throttles.length > 0 || this.owesUnknown;
  }

  /**
   * The reason for which no action may be taken: a note was lost, or may be, and nobody has looked at it. Undefined =
   * there is none.
   */
  get whyNoAction(): string | undefined {
    const { setAside } = this.note;
    if ('because' in setAside) return `earlier QoS actions may not be known, so none is taken: ${setAside.because}`;
    if (setAside.paths.length === 0) return undefined;
    return `earlier QoS actions are not known, so none is taken: look at what was set aside beside ${this.path}, and remove it`;
  }

  /** Raises the alarm about a lost note, or ends it. Does nothing before the note is loaded. */
  look(): void {
    if (this.hasLoaded) this.note.look();
  }

  /**
   * Takes up what earlier processes left. Containers end with the boot, the taint of the Node does not. For a note that
   * is lost the taint and quotas count as owed, and the budget of the hour as spent. Returns the reason why that can't
   * be known now; undefined = it is known.
   */
  load(nowMs: number): string | undefined {
    const left = this.note.load();
    const { bootId } = this.kept;
    switch (left.kind) {
      case 'unknown':
        return left.because;
      case 'known': {
        const { value, isSealed } = left;
        const throttles = value.bootId === bootId ? value.throttles : [];
        this.kept = { ...value, bootId, throttles: isSealed ? throttles : throttles.map(plausibleThrottle) };
        break;
      }
      case 'lost': {
        this.kept = { ...this.kept, tainted: true, owesUnknown: true, lostAtMs: nowMs };
      }
    }
    this.hasLoaded = true;
    this.hasFile = left.kind !== 'nothing';
    return undefined;
  }

  /** Counts what was spent in the hour before `nowMs`. When a note was lost in it, nobody knows: all of it. */
  spent(nowMs: number): Spent {
    const { actions, evictions, lostAtMs } = recentOf(this.kept, nowMs);
    const by = new Map<string, SpentBudget>();
    const count = (what: 'actions' | 'evictions', spent: readonly SpentAction[]): void => {
      for (const { namespace } of spent) {
        const counted = by.get(namespace) ?? { actions: 0, evictions: 0 };
        by.set(namespace, { ...counted, [what]: counted[what] + 1 });
      }
    };
    count('actions', actions);
    count('evictions', evictions);
    if (lostAtMs !== undefined) return { actions: Infinity, evictions: Infinity, by };
    return { actions: actions.length, evictions: evictions.length, by };
  }

  /**
   * Removes the file when there is nothing to undo, and nothing was spent in the last hour. Throws the system's error.
   */
  tidy(nowMs: number): void {
    const isNeeded = this.isInForce || this.spent(nowMs).actions > 0;
    if (this.hasFile && !isNeeded) this.save({}, { namespaces: [], nowMs });
  }

  /**
   * Returns when these throttles are durable, and what was spent for them now. Throws the system's error; nothing is
   * changed then.
   */
  saveThrottles(throttles: readonly Throttle[], spending: Spending): void {
    this.save({ throttles }, spending);
  }

  /** The same for the taint of the Node. */
  saveTaint(tainted: boolean, spending: Spending): void {
    this.save({ tainted }, spending);
  }

  /** The same for one eviction. */
  saveEviction(namespace: string, nowMs: number): void {
    this.save({ evictions: [...this.kept.evictions, { atMs: nowMs, namespace }] }, { namespaces: [namespace], nowMs });
  }

  /** Gives an eviction of this time back that was refused. Throws the system's error; then it stays counted. */
  giveBackEviction(namespace: string, atMs: number): void {
    const { actions, evictions } = this.kept;
    const entry = { atMs, namespace };
    const change = { actions: without(actions, entry), evictions: without(evictions, entry) };
    this.save(change, { namespaces: [], nowMs: atMs });
  }

  /** Gives actions of this time back that had surely no effect. Throws the system's error; then they stay counted. */
  giveBackActions(namespaces: readonly string[], atMs: number): void {
    const actions = namespaces.reduce((left, namespace) => without(left, { atMs, namespace }), this.kept.actions);
    this.save({ actions }, { namespaces: [], nowMs: atMs });
  }

  /** Notes that the quotas of a lost note are undone. Throws the system's error. */
  saveUnknownUndone(nowMs: number): void {
    this.save({ owesUnknown: false }, { namespaces: [], nowMs });
  }

  private save(change: Partial<QosActions>, { namespaces, nowMs }: Spending): void {
    const { owesUnknown, ...changed } = { ...this.kept, ...change };
    const next = { ...recentOf(changed, nowMs), ...(owesUnknown === true && { owesUnknown }) };
    const now = namespaces.map((namespace): SpentAction => ({ atMs: nowMs, namespace }));
    const saved = { ...next, actions: [...next.actions, ...now] };
    const owes = saved.tainted || saved.throttles.length > 0 || owesUnknown === true;
    const isNothing = !owes && saved.actions.length === 0 && saved.lostAtMs === undefined;
    // Beside a note that was set aside, an empty one shows the next start that nothing is owed for it any more.
    const isEmpty = isNothing && !this.note.isSetAside;
    if (isEmpty) this.note.forget();
    else this.note.save(saved);
    this.hasFile = !isEmpty;
    this.kept = saved;
  }
}

/**
 * Those of the last hour. What lies in the future was taken before the clock was set back, nobody knows when: it counts
 * as taken now, so that it is not forgotten before an hour is over.
 */
function recentOf<T extends Pick<QosActions, 'actions' | 'evictions' | 'lostAtMs'>>(kept: T, nowMs: number): T {
  const { lostAtMs, ...rest } = kept;
  const isRecent = (atMs: number): boolean => nowMs - atMs < HOUR_MS;
  const recent = (spent: readonly SpentAction[]): readonly SpentAction[] =>
    spent.filter(({ atMs }) => isRecent(atMs)).map((action) => ({ ...action, atMs: Math.min(action.atMs, nowMs) }));
  const lost = lostAtMs !== undefined && isRecent(lostAtMs) && { lostAtMs: Math.min(lostAtMs, nowMs) };
  return { ...rest, actions: recent(kept.actions), evictions: recent(kept.evictions), ...lost } as T;
}

/** The list without one entry like this. */
function without(spent: readonly SpentAction[], { atMs, namespace }: SpentAction): readonly SpentAction[] {
  const at = spent.findLastIndex((action) => action.atMs === atMs && action.namespace === namespace);
  return at < 0 ? spent : spent.toSpliced(at, 1);
}

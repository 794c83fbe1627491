import type { NodeView } from '../../core/model/node-view';
import { keyOfRefusal, type Refusal } from '../../core/model/refusal';
import { findSpec } from '../../core/model/spec-book';
import { asCpuEvent, describeRefusal, keyOfRequest, type CpuEvent } from '../../core/transition';
import type { Transaction } from '../transaction/transaction';

export interface RefusalHistoryParts {
  readonly model: NodeView;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  /** The history has changed; `repeated`: only the count and the time of an entry. */
  readonly onChange?: (change: 'entries' | 'repeated') => void;
}

/** Containers, on a node that has some hundreds of pods. */
export const MOST_REFUSALS = 256;
const KEEP_MS = 24 * 3_600_000;

/** The refusals that a granted request ends. A start is under way when it is granted: it ends with its success. */
const ENDS = {
  'create-container': 'creation',
  'update-container': 'change',
  'container-starting': undefined,
} as const satisfies Record<CpuEvent['kind'], Refusal['asked'] | undefined>;

/**
 * Containers that were refused and not served since, with the reason: one entry for each container of a pod, however
 * often it is tried. An entry goes when the container is made, when another pod has its name, and after a day without a
 * try. It also goes when the API server has the pod no more: of a static pod, of which the API server has a mirror
 * only, when the sandbox is gone as well.
 *
 * The history is bounded, and fair. Beyond the bound, one entry of the namespace that has most goes: the oldest of its
 * pod that has most. Of several such namespaces the one that came last loses. So no namespace pushes others out with
 * many refusals or many pods, and no user with many namespaces. When each namespace has one entry, entries of pods that
 * are gone make room, the latest first; when no pod is gone, a new entry finds no place. So the only entry of a
 * namespace stays as long as its pod lives.
 */
export class RefusalHistory {
  /** By key, in the order of the last time. */
  private readonly entries = new Map<string, Refusal>();
  private readonly retries = new WeakSet<Transaction>();
  /** True after a complete list of the API server: a pod that is not in it does not exist there. */
  private knowsAllPods = false;

  constructor(private readonly parts: RefusalHistoryParts) {}

  /** Takes in the entries of an earlier process. */
  restore(refusals: readonly Refusal[]): void {
    for (const refusal of [...refusals].sort((a, b) => (a.lastAt < b.lastAt ? -1 : 1))) this.put(refusal);
    this.forgetOld();
  }

  /** Takes in the result of an event. No answer waits for it. */
  note(done: Transaction): void {
    const { request, answer } = done;
    const { model } = this.parts;
    if (done.isTentative) return;
    switch (request?.kind) {
      case 'create-container':
      case 'update-container':
      case 'container-starting': {
        if (answer.kind !== 'refuse') {
          this.dropServed(request, ENDS[request.kind]);
          return;
        }
        const refusal = describeRefusal(model, request, answer, this.parts.now());
        const before = this.entries.get(keyOfRefusal(refusal));
        this.forgetOld();
        if (before?.asked === refusal.asked) {
          this.retries.add(done);
          this.put({ ...refusal, firstAt: before.firstAt, times: before.times + 1 });
          this.parts.onChange?.('repeated');
        } else if (this.put(refusal)) this.parts.onChange?.('entries');
        return;
      }
      case 'container-started': {
        this.dropServed(request, 'start');
        return;
      }
      case 'pod-started': {
        const { uid, namespace, name } = request.pod;
        this.dropWhere((each) => each.podNamespace === namespace && each.podName === name && each.podUid !== uid);
        return;
      }
      case 'pod-spec-gone': {
        this.dropWhere((each) => each.podUid === request.uid);
        this.dropGone();
        return;
      }
      case 'pod-specs': {
        this.knowsAllPods = true;
        this.dropGone();
        return;
      }
      case 'pod-stopped':
      case 'pod-removed': {
        this.dropGone();
        return;
      }
      case 'synchronize': {
        // Made, or started, while we were away.
        this.dropWhere(({ asked, podUid, containerName }) =>
          model
            .containersOf(podUid)
            .some(
              ({ name, phase }) =>
                name === containerName && (asked === 'creation' || (asked === 'start' && phase === 'running')),
            ),
        );
        return;
      }
    }
  }

  /** The entry of a refusal that was noted. `isRetry`: the same had been refused before. */
  of(done: Transaction): { readonly isRetry: boolean; readonly refused: Refusal | undefined } {
    const request = asCpuEvent(done.request);
    if (!request || done.answer.kind !== 'refuse') return { isRetry: false, refused: undefined };
    const key = keyOfRequest(request);
    return { isRetry: this.retries.has(done), refused: this.entries.get(key) };
  }

  /** The entries of the last day, the oldest first. */
  list(): readonly Refusal[] {
    return [...this.entries.values()].filter((refusal) => this.isOfLastDay(refusal));
  }

  /**
   * Drops the entry of a container that got what it was refused. A change that is granted ends the refusal of a change
   * only.
   */
  private dropServed(request: Pick<CpuEvent, 'pod' | 'container'>, ends: Refusal['asked'] | undefined): void {
    const key = keyOfRequest(request);
    const asked = this.entries.get(key)?.asked;
    if (asked !== undefined && ends !== undefined && (asked === ends || (asked === 'change' && ends === 'creation')))
      this.drop([key]);
  }

  /** Returns false when it found no place. */
  private put(refusal: Refusal): boolean {
    const key = keyOfRefusal(refusal);
    this.entries.delete(key);
    this.entries.set(key, refusal);
    if (this.entries.size > MOST_REFUSALS) this.entries.delete(this.findVictim());
    return this.entries.has(key);
  }

  /** See the rule at the class. The entries are in the order of their last time. */
  private findVictim(): string {
    const inNamespaces = largestOf(groupBy(this.entries.values(), ({ podNamespace }) => podNamespace));
    const isOneEach = inNamespaces[0]!.length === 1;
    const gone = isOneEach ? inNamespaces.filter(([only]) => this.isGone(only!)) : [];
    const inNamespace = latestOf(gone.length > 0 ? gone : inNamespaces);
    return keyOfRefusal(largestOf(groupBy(inNamespace, ({ podUid }) => podUid))[0]![0]!);
  }

  /** True when neither the API server nor the runtime is known to have the pod. */
  private isGone({ podUid: uid, podNamespace: namespace, podName: name }: Refusal): boolean {
    const { model } = this.parts;
    return findSpec(model, { uid, namespace, name }) === undefined && model.podsOf(uid).every(({ stopped }) => stopped);
  }

  /** Drops nothing without an API server: a pod without a sandbox may still get one. */
  private dropGone(): void {
    if (this.knowsAllPods) this.dropWhere((refusal) => this.isGone(refusal));
  }

  private forgetOld(): void {
    for (const [key, refusal] of this.entries) {
      if (this.isOfLastDay(refusal)) return;
      this.entries.delete(key);
    }
  }

  /** A time that is further ahead than a day is of a clock that was wrong: it would never be a day ago. */
  private isOfLastDay({ lastAt }: Refusal): boolean {
    return Math.abs(Date.parse(this.parts.now()) - Date.parse(lastAt)) <= KEEP_MS;
  }

  private dropWhere(isMeant: (refusal: Refusal) => boolean): void {
    if (this.entries.size === 0) return;
    this.drop([...this.entries].filter(([, refusal]) => isMeant(refusal)).map(([key]) => key));
  }

  private drop(keys: readonly string[]): void {
    for (const key of keys) this.entries.delete(key);
    if (keys.length > 0) this.parts.onChange?.('entries');
  }
}

type Group = readonly Refusal[];

function groupBy(refusals: Iterable<Refusal>, nameOf: (refusal: Refusal) => string): readonly Group[] {
  const groups = new Map<string, Refusal[]>();
  for (const refusal of refusals) {
    const others = groups.get(nameOf(refusal));
    if (others) others.push(refusal);
    else groups.set(nameOf(refusal), [refusal]);
  }
  return [...groups.values()];
}

/** The largest groups; several where they are of one size. */
function largestOf(groups: readonly Group[]): readonly Group[] {
  const most = Math.max(...groups.map(({ length }) => length));
  return groups.filter(({ length }) => length === most);
}

/** The group whose first refusal is the latest. */
function latestOf(groups: readonly Group[]): Group {
  const since = (group: Group): string => group.map(({ firstAt }) => firstAt).reduce((a, b) => (b < a ? b : a));
  return groups
    .map((group) => ({ group, since: since(group) }))
    .reduce((latest, each) => (each.since >= latest.since ? each : latest)).group;
}

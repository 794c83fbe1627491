import { findSpec } from '../core/model/find-spec';
import type { NodeView } from '../core/model/node-model';
import { keyOfRefusal, type Refusal } from '../core/model/refusal';
import { describeRefusal } from '../core/transition';
import type { Transaction } from './transactor';

export interface RefusalBookParts {
  readonly model: NodeView;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  /** The book has changed: `repeated` = only how often and when somebody was refused who stood in it. */
  readonly onChange?: (change: 'entries' | 'repeated') => void;
}

/** Containers, on a node that has some hundreds of pods. */
export const MOST_REFUSALS = 256;
const KEEP_MS = 24 * 3_600_000;

/**
 * Containers that were refused and not served since, with the reason: one entry for each container of a pod, however often it is tried. An entry
 * goes when the container is made, when the API server has the pod no more or another has its name, and after a day without a try.
 *
 * The book is bounded, and fair: who is beyond takes the place of the oldest entry of the pod that has most, in the namespace that
 * has most. So nobody pushes others out by being refused often, or with many pods.
 */
export class RefusalBook {
  /** By key, in the order of the last time. */
  private readonly entries = new Map<string, Refusal>();
  private readonly retries = new WeakSet<Transaction>();

  constructor(private readonly parts: RefusalBookParts) {}

  /** Takes in what an earlier process knew. */
  restore(refusals: readonly Refusal[]): void {
    for (const refusal of [...refusals].sort((a, b) => (a.lastAt < b.lastAt ? -1 : 1))) this.put(refusal);
    this.forgetOld();
  }

  /** Takes in what came of an event. Nobody waits for it. */
  note(done: Transaction): void {
    const { request, answer } = done;
    const { model } = this.parts;
    switch (request?.kind) {
      case 'create-container':
      case 'update-container': {
        const key = keyOfRefusal({ podUid: request.pod.uid, containerName: request.container.name });
        if (answer.kind !== 'refuse') {
          const asked = this.entries.get(key)?.asked;
          if (asked !== undefined && (asked === 'change' || request.kind === 'create-container')) this.drop([key]);
          return;
        }
        const refusal = describeRefusal(model, request, answer, this.parts.now());
        const before = this.entries.get(keyOfRefusal(refusal));
        if (before?.asked !== refusal.asked) this.put(refusal);
        else {
          this.retries.add(done);
          this.put({ ...refusal, firstAt: before.firstAt, times: before.times + 1 });
        }
        this.forgetOld();
        this.parts.onChange?.(before?.asked === refusal.asked ? 'repeated' : 'entries');
        return;
      }
      case 'pod-started': {
        const { uid, namespace, name } = request.pod;
        this.dropWhere((of) => of.podNamespace === namespace && of.podName === name && of.podUid !== uid);
        return;
      }
      case 'pod-spec-gone': {
        this.dropWhere(({ podUid }) => podUid === request.uid);
        return;
      }
      case 'pod-specs': {
        this.dropWhere((of) => {
          const pod = { uid: of.podUid, namespace: of.podNamespace, name: of.podName };
          return findSpec(model, pod) === undefined && model.podsOf(of.podUid).length === 0;
        });
        return;
      }
      case 'synchronize': {
        // Made while we were away.
        this.dropWhere(
          ({ asked, podUid, containerName }) =>
            asked === 'creation' && model.containersOf(podUid).some(({ name }) => name === containerName),
        );
        return;
      }
    }
  }

  /** The entry of a refusal that was noted. `isRetry`: the same had been refused before. */
  of(done: Transaction): { readonly isRetry: boolean; readonly refused: Refusal | undefined } {
    const { request, answer } = done;
    const asks = request?.kind === 'create-container' || request?.kind === 'update-container';
    if (!asks || answer.kind !== 'refuse') return { isRetry: false, refused: undefined };
    const key = keyOfRefusal({ podUid: request.pod.uid, containerName: request.container.name });
    return { isRetry: this.retries.has(done), refused: this.entries.get(key) };
  }

  /** Those of the last day, the oldest first. */
  list(): readonly Refusal[] {
    return [...this.entries.values()].filter((refusal) => this.isOfLastDay(refusal));
  }

  private put(refusal: Refusal): void {
    const key = keyOfRefusal(refusal);
    this.entries.delete(key);
    this.entries.set(key, refusal);
    if (this.entries.size > MOST_REFUSALS) this.entries.delete(findVictim(this.entries));
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

/** Of the namespace that has most, of its pod that has most, the oldest; in the order of the entries where there are several. */
function findVictim(entries: ReadonlyMap<string, Refusal>): string {
  const ofMost = (keys: readonly string[], groupOf: (refusal: Refusal) => string): readonly string[] => {
    const groups = new Map<string, string[]>();
    for (const key of keys) {
      const group = groupOf(entries.get(key)!);
      const others = groups.get(group);
      if (others) others.push(key);
      else groups.set(group, [key]);
    }
    return [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most));
  };
  const ofNamespace = ofMost([...entries.keys()], ({ podNamespace }) => podNamespace);
  return ofMost(ofNamespace, ({ podUid }) => podUid)[0]!;
}

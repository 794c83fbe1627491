import type { PodSpec } from '../../../core/model/pod-spec';
import type { NodeRecords } from '../cluster/node-records';
import type { Rejection, Scores } from '../verdict';
import { NumberList } from '../number-list';
import { ScoredNodes } from '../scored-nodes';

/** The names of a pod. */
type PodNames = Pick<PodSpec, 'uid' | 'namespace' | 'name'>;

/** Most pods whose last decision is kept, and most nodes that they are about together; the oldest makes room. */
const MAX_PODS = 256;
const MAX_NODES = 2_000_000;

/** The last decisions on one pod, as `GET /explain` answers. */
export interface Explanation {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  /** ISO 8601. */
  readonly filteredAt: string | null;
  /** The nodes that the scheduler asked about: those that its own plugins let pass. */
  readonly nodes: readonly NodeExplanation[];
  readonly bound: { readonly at: string; readonly node: string; /** Empty = bound. */ readonly error: string } | null;
}

export interface NodeExplanation {
  readonly node: string;
  readonly fits: boolean;
  /** Only for a node that does not fit; `value` and `limit` are null when no figure decided. */
  readonly rejection: {
    readonly plugin: string;
    readonly subject: string;
    readonly value: number | null;
    readonly limit: number | null;
    readonly message: string;
  } | null;
  /** Null when the node was not scored. */
  readonly scores: Scores | null;
}

/** The last decision on each of the last pods, in at most about 50 MB. */
export class DecisionLog {
  private readonly byPod = new Map<string, Decision>();

  /** @param records the names of the nodes, which are numbers here */
  constructor(private readonly records: Pick<NodeRecords, 'nameOf'>) {}

  /** A new decision, which the filter adds its nodes to. */
  begin(pod: PodNames, atMs: number): Decision {
    const key = keyOf(pod);
    while (this.countNodes() > MAX_NODES) this.takeOldest();
    const decision = this.byPod.get(key) ?? (this.byPod.size < MAX_PODS ? new Decision() : this.takeOldest());
    this.byPod.delete(key);
    this.byPod.set(key, decision);
    decision.begin(pod, atMs);
    return decision;
  }

  notePriorities({ namespace, name, uid }: PodNames, scored: ScoredNodes): void {
    const decision = this.byPod.get(keyOf({ namespace, name }));
    if (decision?.uid === uid) decision.scored.copy(scored);
  }

  noteBinding(
    pod: { readonly namespace: string; readonly name: string },
    node: string,
    error: string,
    atMs: number,
  ): void {
    const decision = this.byPod.get(keyOf(pod));
    if (decision) decision.bound = { atMs, node, error };
  }

  /** Undefined for a pod that was not seen lately. @param onlyNode undefined = all nodes */
  explain(namespace: string, name: string, onlyNode?: string): Explanation | undefined {
    const decision = this.byPod.get(keyOf({ namespace, name }));
    if (!decision) return undefined;
    const { uid, atMs, bound } = decision;
    const scores = decision.scored.toMap();
    return {
      namespace,
      pod: name,
      uid,
      filteredAt: toTime(atMs),
      nodes: [...decision.nodes()].flatMap(({ number, rejection }) => {
        const node = this.records.nameOf(number);
        if (node === undefined || (onlyNode !== undefined && node !== onlyNode)) return [];
        return [{ node, fits: rejection === null, rejection, scores: scores.get(number) ?? null }];
      }),
      bound: bound ? { at: toTime(bound.atMs), node: bound.node, error: bound.error } : null,
    };
  }

  private countNodes(): number {
    let sum = 0;
    for (const { room } of this.byPod.values()) sum += room;
    return sum;
  }

  private takeOldest(): Decision {
    const [key, decision] = this.byPod.entries().next().value!;
    this.byPod.delete(key);
    return decision;
  }
}

/** The decision on one pod, in lists of numbers: one on 5,000 nodes takes about 100 kB. */
export class Decision {
  uid = '';
  atMs = 0;
  bound: { readonly atMs: number; readonly node: string; readonly error: string } | undefined;
  readonly scored = new ScoredNodes();
  private readonly numbers = new NumberList(Uint32Array);
  /** 0 = the node fits, else an index of `texts`, one higher. */
  private readonly kinds = new NumberList(Uint16Array);
  /** Two for each node that does not fit. */
  private readonly figures = new NumberList(Float32Array);
  private texts: Rejection[] = [];

  /** The number of nodes that its memory has room for. */
  get room(): number {
    return this.numbers.room;
  }

  begin({ uid }: PodNames, atMs: number): void {
    Object.assign(this, { uid, atMs, bound: undefined, texts: [] });
    for (const list of [this.scored, this.numbers, this.kinds, this.figures]) list.clear();
  }

  /** @param node the number of its record @param rejection undefined = fits */
  add(node: number, rejection: Rejection | undefined): void {
    this.numbers.push(node);
    this.kinds.push(rejection ? this.kindOf(rejection) : 0);
    if (!rejection) return;
    this.figures.push(rejection.value);
    this.figures.push(rejection.limit);
  }

  *nodes(): Generator<{ readonly number: number; readonly rejection: NodeExplanation['rejection'] }> {
    let at = 0;
    for (let i = 0; i < this.numbers.length; i++) {
      const text = this.texts[this.kinds.at(i) - 1];
      const rejection = text ? toExplanation(text, this.figures.at(at), this.figures.at(at + 1)) : null;
      if (text) at += 2;
      yield { number: this.numbers.at(i), rejection };
    }
  }

  /** There are few kinds: a message names its node, so it is one of the same kind with another name. */
  private kindOf(rejection: Rejection): number {
    const { plugin, subject, message } = rejection;
    const known = this.texts.findIndex(
      (each) =>
        each.plugin === plugin && each.subject === subject && (plugin === 'Dynamic' || each.message === message),
    );
    return known < 0 ? this.texts.push(rejection) : known + 1;
  }
}

function toExplanation(
  { plugin, subject, message }: Rejection,
  value: number,
  limit: number,
): NodeExplanation['rejection'] {
  const figures = subject === '' ? { value: null, limit: null } : { value: round(value), limit: round(limit) };
  return { plugin, subject, ...figures, message: message.replace(/ of node\[[^\]]*\]/, '') };
}

/** Five decimals, as annotations have. */
function round(value: number): number {
  return Math.round(value * 1e5) / 1e5;
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

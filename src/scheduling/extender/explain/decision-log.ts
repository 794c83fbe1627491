import type { PodRequest } from '../../topology/pod-request';
import type { Rejection, Scores } from '../judge';
import { PLUGIN_NAMES } from '../plugins';

/** Most pods whose last decision is kept; the oldest makes room. */
const MAX_PODS = 256;
/** Most different names of nodes that are kept once for all decisions. */
const MAX_NAMES = 50_000;

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

/**
 * The last decision on each of the last pods, in arrays of numbers: a decision on 5,000 nodes takes about 150 kB.
 */
export class DecisionLog {
  private readonly byPod = new Map<string, Decision>();
  private readonly names = new Map<string, string>();

  /** @param rejections one for each node, undefined = fits */
  noteFilter(
    pod: PodRequest,
    nodes: readonly string[],
    rejections: readonly (Rejection | undefined)[],
    atMs: number,
  ): void {
    const decision: Decision = { pod, filteredAtMs: atMs, nodes: this.keepNames(nodes), rejections: pack(rejections) };
    const key = keyOf(pod);
    this.byPod.delete(key);
    this.byPod.set(key, decision);
    if (this.byPod.size > MAX_PODS) this.byPod.delete(this.byPod.keys().next().value!);
  }

  notePriorities(pod: PodRequest, nodes: readonly string[], scores: readonly Scores[]): void {
    const decision = this.byPod.get(keyOf(pod));
    if (decision?.pod.uid !== pod.uid) return;
    const numbers = new Uint16Array(nodes.length * 4);
    scores.forEach((of, i) => numbers.set([of.Dynamic, of.NodeResourceTopologyMatch, of.wholeCpus, of.total], i * 4));
    decision.scores = { nodes: this.keepNames(nodes), numbers };
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
    const { pod, filteredAtMs, nodes, bound } = decision;
    const scores = unpackScores(decision);
    return {
      ...{ namespace, pod: name, uid: pod.uid },
      filteredAt: toTime(filteredAtMs),
      nodes: nodes.flatMap((node, i) => {
        if (onlyNode !== undefined && node !== onlyNode) return [];
        const rejection = unpack(decision.rejections, i);
        return [{ node, fits: rejection === null, rejection, scores: scores.get(node) ?? null }];
      }),
      bound: bound ? { at: toTime(bound.atMs), node: bound.node, error: bound.error } : null,
    };
  }

  /** Names of nodes come anew with each request; here each is kept once. */
  private keepNames(nodes: readonly string[]): readonly string[] {
    if (this.names.size > MAX_NAMES) this.names.clear();
    return nodes.map((node) => {
      const known = this.names.get(node);
      if (known !== undefined) return known;
      this.names.set(node, node);
      return node;
    });
  }
}

interface Decision {
  readonly pod: PodRequest;
  readonly filteredAtMs: number;
  readonly nodes: readonly string[];
  readonly rejections: PackedRejections;
  scores?: { readonly nodes: readonly string[]; readonly numbers: Uint16Array };
  bound?: { readonly atMs: number; readonly node: string; readonly error: string };
}

/** `kinds`: 0 = fits, else an index of `texts`, one higher. */
interface PackedRejections {
  readonly kinds: Uint16Array;
  readonly texts: readonly Pick<Rejection, 'plugin' | 'subject' | 'message'>[];
  readonly figures: Float32Array;
}

/** A message names its node; it is put together again when it is asked for. */
function pack(rejections: readonly (Rejection | undefined)[]): PackedRejections {
  const kinds = new Uint16Array(rejections.length);
  const figures = new Float32Array(rejections.length * 2);
  const texts: Rejection[] = [];
  const known = new Map<string, number>();
  rejections.forEach((rejection, i) => {
    if (!rejection) return;
    const { plugin, subject, value, limit } = rejection;
    const key = `${PLUGIN_NAMES.indexOf(plugin)} ${subject} ${plugin === 'Dynamic' ? '' : rejection.message}`;
    let kind = known.get(key);
    if (kind === undefined) known.set(key, (kind = texts.push(rejection)));
    kinds[i] = kind;
    figures.set([value, limit], i * 2);
  });
  return { kinds, texts, figures };
}

function unpack({ kinds, texts, figures }: PackedRejections, i: number): NodeExplanation['rejection'] {
  const text = texts[kinds[i]! - 1];
  if (!text) return null;
  const { plugin, subject, message } = text;
  const [value, limit] = subject === '' ? [null, null] : [round(figures[i * 2]!), round(figures[i * 2 + 1]!)];
  return { plugin, subject, value, limit, message: message.replace(/ of node\[[^\]]*\]/, '') };
}

function unpackScores({ scores }: Decision): ReadonlyMap<string, Scores> {
  if (!scores) return new Map();
  return new Map(
    scores.nodes.map((node, i) => {
      const [Dynamic, NodeResourceTopologyMatch, wholeCpus, total] = scores.numbers.subarray(i * 4, i * 4 + 4);
      return [
        node,
        {
          Dynamic: Dynamic!,
          NodeResourceTopologyMatch: NodeResourceTopologyMatch!,
          wholeCpus: wholeCpus!,
          total: total!,
        },
      ];
    }),
  );
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

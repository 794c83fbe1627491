import { isDeepStrictEqual } from 'node:util';
import { largerUse, useOf, type NodeOffer, type ZoneAmounts } from '../../../core/fit';
import { announcedTo, type BoundPod } from './bound-pod';

/**
 * A pod that takes less than before has its CPUs until its node has published them as its own, and no longer than this:
 * a node whose cpusetd is away publishes nothing, and gives nothing either.
 */
const BEFORE_MS = 60_000;

interface Use {
  /** Absent for a pod that announces nothing any more. */
  readonly pod?: BoundPod;
  /** The pod as it was when it announced what the node's figures are about. */
  readonly before?: { readonly pod: BoundPod; readonly untilMs: number };
}

/**
 * The amounts that bound pods take of the zones of their nodes, by their results. Their authors can change or remove a
 * result, and so can a resize: the node counts by the new one only when it has published again. Until then the larger
 * of both counts here.
 */
export class PodUses {
  /** By node and uid. */
  private readonly uses = new Map<string, Map<string, Use>>();
  private readonly nodeOf = new Map<string, string>();

  /** @param clockMs monotonic */
  constructor(private readonly clockMs: () => number) {}

  /** True for a bound pod that announces something. */
  has(uid: string): boolean {
    return this.nodeOf.has(uid);
  }

  take(pod: BoundPod): void {
    const { node, uid } = pod;
    const before = this.uses.get(node)?.get(uid);
    if (isDeepStrictEqual(before?.pod?.announced, pod.announced)) return;
    this.nodeOf.set(uid, node);
    this.put(node, uid, { pod, ...this.formerOf(before) });
  }

  /** The pod announces nothing any more. `isGone`: it has ended, and its CPUs are free. */
  drop(node: string, uid: string, isGone: boolean): void {
    const before = this.uses.get(node)?.get(uid);
    this.nodeOf.delete(uid);
    const former = isGone ? {} : this.formerOf(before);
    if (former.before) this.put(node, uid, former);
    else this.remove(node, uid);
    // Nothing reports the end of a pod that announces nothing.
    const nowMs = this.clockMs();
    for (const [other, use] of this.uses.get(node) ?? [])
      if (!use.pod && (use.before?.untilMs ?? 0) <= nowMs) this.remove(node, other);
  }

  /** The node has published other figures, by what its pods announce now. */
  notePublished(node: string): void {
    for (const [uid, { pod }] of this.uses.get(node) ?? []) {
      if (pod) this.put(node, uid, { pod });
      else this.remove(node, uid);
    }
  }

  /** The use of each pod of a node but these. */
  list(node: string, rules: NodeOffer['rules'], except: ReadonlySet<string>): ZoneAmounts[] {
    const known = rules === 'unreadable' ? undefined : rules;
    const nowMs = this.clockMs();
    return [...(this.uses.get(node) ?? [])].flatMap(([uid, { pod, before }]) => {
      if (except.has(uid)) return [];
      const now = pod && useOf(announcedTo(rules, pod), known);
      // Only cpusetd publishes what pods without results have.
      const isStill = rules !== undefined && before !== undefined && before.untilMs > nowMs;
      const former = isStill ? useOf(announcedTo(rules, before.pod), known) : undefined;
      return now && former ? [largerUse(now, former)] : [now ?? former].filter((use) => use !== undefined);
    });
  }

  /** The time of the clock at which less counts for a node; Infinity = not by time. */
  untilMs(node: string): number {
    const nowMs = this.clockMs();
    const ends = [...(this.uses.get(node) ?? [])].map(([, { before }]) => before?.untilMs ?? Infinity);
    return Math.min(Infinity, ...ends.filter((ms) => ms > nowMs));
  }

  private formerOf(before: Use | undefined): Pick<Use, 'before'> {
    if (before?.before && before.before.untilMs > this.clockMs()) return { before: before.before };
    if (!before?.pod) return {};
    return { before: { pod: before.pod, untilMs: this.clockMs() + BEFORE_MS } };
  }

  private put(node: string, uid: string, use: Use): void {
    let ofNode = this.uses.get(node);
    if (!ofNode) this.uses.set(node, (ofNode = new Map<string, Use>()));
    ofNode.set(uid, use);
  }

  private remove(node: string, uid: string): void {
    const ofNode = this.uses.get(node);
    if (ofNode?.delete(uid) === true && ofNode.size === 0) this.uses.delete(node);
  }
}

import { EarliestTimer } from '../../net/earliest-timer';
import type { SchedulerPolicy } from '../policy/policy';
import type { Bindings } from '../load/bindings';
import { hotValueOf } from '../load/hot-value';

export interface HotValuesParts {
  readonly policy: SchedulerPolicy;
  readonly bindings: Bindings;
  readonly nodes: { has(name: string): boolean; names(): Iterable<string> };
  /** The hot value of a node is to be written. `isChanged`: it is another than before. */
  readonly onHotValue: (node: string, hotValue: number, stampMs: number, isChanged: boolean) => void;
  /** Wall clock. */
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

const LONGEST_TICK_MS = 60_000;
const SHORTEST_TICK_MS = 1_000;
/** An unchanged value is written again after this time. Readers drop it after 5 min. */
const REWRITE_MS = 120_000;
/** It is written again with a patch that is sent for other values after this time. */
const REWRITE_ALONG_MS = 60_000;
/** Nodes that got pods are looked at after this time. */
const GATHER_MS = 1_000;

interface Written {
  readonly hotValue: number;
  readonly stampMs: number;
}

/**
 * Computes the hot values of all nodes in each period, and of nodes that get pods soon after that. Depends on nothing
 * but the bindings: a Prometheus that is away does not matter.
 */
export class HotValues {
  private readonly written = new Map<string, Written>();
  private readonly touched = new Set<string>();
  private readonly ticks: EarliestTimer;
  private readonly gathering: EarliestTimer;
  private readonly periodMs: number;
  private isStarted = false;

  constructor(private readonly parts: HotValuesParts) {
    const ranges = parts.policy.hotValue.map(({ timeRangeMs }) => timeRangeMs);
    this.periodMs = Math.max(SHORTEST_TICK_MS, Math.min(LONGEST_TICK_MS, ...ranges));
    this.ticks = new EarliestTimer(() => this.tick(), parts.signal);
    this.gathering = new EarliestTimer(() => this.lookAtTouched(), parts.signal);
  }

  /** Computes all values now, and from now on. To be called when the bindings are complete. */
  start(): void {
    this.isStarted = true;
    this.tick();
  }

  /** All values are written again: the clock was set. */
  restart(): void {
    this.written.clear();
    if (this.isStarted) this.tick();
  }

  /** The node is new, or got a pod. */
  touch(node: string): void {
    if (!this.isStarted) return;
    this.touched.add(node);
    this.gathering.startIn(GATHER_MS);
  }

  remove(node: string): void {
    this.written.delete(node);
    this.touched.delete(node);
  }

  /** The value of a node when it may go with a patch for other values. */
  renew(node: string): Written | undefined {
    const before = this.written.get(node);
    const now = this.parts.nowMs();
    if (!before || now - before.stampMs < REWRITE_ALONG_MS) return undefined;
    return this.remember(node, this.compute(node, now), now);
  }

  private tick(): void {
    for (const node of this.parts.nodes.names()) this.look(node);
    this.ticks.startIn(this.periodMs);
  }

  private lookAtTouched(): void {
    const nodes = [...this.touched];
    this.touched.clear();
    for (const node of nodes) if (this.parts.nodes.has(node)) this.look(node);
  }

  private look(node: string): void {
    const now = this.parts.nowMs();
    const hotValue = this.compute(node, now);
    const before = this.written.get(node);
    const isChanged = before?.hotValue !== hotValue;
    if (!isChanged && now - before.stampMs < REWRITE_MS) return;
    this.remember(node, hotValue, now);
    this.parts.onHotValue(node, hotValue, now, isChanged);
  }

  private compute(node: string, now: number): number {
    return hotValueOf(this.parts.policy, this.parts.bindings, node, now);
  }

  private remember(node: string, hotValue: number, stampMs: number): Written {
    const written = { hotValue, stampMs };
    this.written.set(node, written);
    return written;
  }
}

import type { EvictionStep, StepPod } from '../../qos/avoidance/plan';
import { eventOfEviction } from '../../qos/avoidance/pod-event';
import { messageOf } from '../alarms/faults';
import { LeftAlone } from './left-alone';
import type { StepParts } from './step-parts';

export type EvictionOutcome =
  | { readonly kind: 'evicted' }
  | { readonly kind: 'gone' }
  /** It was surely not carried out, such as by a PodDisruptionBudget that does not allow it now. */
  | { readonly kind: 'refused'; readonly because: string };

/** The part of the API server that evicts. */
export interface Evictor {
  /** Rejects when it is not known whether the API server took it. */
  evict(pod: StepPod, graceSeconds: number | undefined): Promise<EvictionOutcome>;
}

export interface PodEvictionsParts extends StepParts {
  readonly node: Evictor;
}

/** Evicts pods. One whose eviction was tried is left alone for a while. */
export class PodEvictions {
  /** By uid. */
  private readonly leftAlone: LeftAlone;

  constructor(private readonly parts: PodEvictionsParts) {
    this.leftAlone = new LeftAlone('its last eviction', parts.elapsedMs);
  }

  /** Pods that are not evicted now, and why; by uid. */
  get refused(): ReadonlyMap<string, string> {
    return this.leftAlone.reasons;
  }

  /** True for a pod that was evicted a moment ago: there may be no news of its deletion yet. */
  isLeaving(podUid: string): boolean {
    return this.leftAlone.isHit(podUid);
  }

  /** Never rejects. It is counted as spent before, and given back when it surely had no effect. */
  async evict(step: EvictionStep): Promise<void> {
    const { pod, graceSeconds, because } = step;
    const { note, node, gate, saves, nowMs } = this.parts;
    const atMs = nowMs();
    if (!saves.save(() => note.saveEviction(pod.namespace, atMs))) return;
    try {
      const outcome = await gate.orInterrupted(node.evict(pod, graceSeconds));
      // The API server may take it: it stays counted.
      if (outcome === undefined) {
        this.noteFailed(pod, 'it was interrupted');
        return;
      }
      this.leftAlone.add(pod.uid, outcome.kind === 'refused' ? outcome.because : undefined);
      if (outcome.kind === 'evicted') {
        const subject = subjectOf(pod);
        this.parts.log.note({ action: 'evict', subject, outcome: 'done', because, podEvent: eventOfEviction(step) });
        return;
      }
      saves.save(() => note.giveBackEviction(pod.namespace, atMs));
      if (outcome.kind === 'refused') this.noteFailed(pod, outcome.because);
    } catch (error) {
      // The API server may have taken it: it stays counted.
      this.leftAlone.add(pod.uid, messageOf(error));
      this.noteFailed(pod, messageOf(error));
    }
  }

  private noteFailed(pod: StepPod, because: string): void {
    this.parts.log.note({ action: 'evict', subject: subjectOf(pod), outcome: 'failed', because });
  }
}

function subjectOf({ namespace, name }: StepPod): string {
  return `${namespace}/${name}`;
}

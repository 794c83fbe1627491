import type { AllocationStep } from '../allocation';
import type { Remark } from '../annotations/annotations';
import type { CpuSet } from '../cpuset';
import type { Placement } from '../model/container';
import type { RefusalCode } from '../model/events';
import type { PolicyName } from '../model/policies';
import type { DriftCause } from '../verdict/drift-cause';

export interface PodRef {
  readonly podUid: string;
  /** `namespace/name`. */
  readonly pod: string;
}

/**
 * A container as an event names it. `containerId` is absent before its creation, and for an assignment that outlived
 * it.
 */
export interface ContainerRef extends PodRef {
  readonly container: string;
  readonly containerId?: string;
}

interface OfContainer {
  readonly subject: ContainerRef;
  /** The reason, for the operator. */
  readonly because: string;
}

/**
 * A result of a transaction for the log, for Events on pods and for `explain`. `app/journal/event-log.ts` maps each
 * kind to its log line.
 */
export type DomainEvent =
  /** `steps`: the choice of the CPUs, step by step. */
  | (OfContainer & {
      readonly kind: 'pinned';
      readonly policy: PolicyName;
      readonly cpus: CpuSet | undefined;
      readonly steps: readonly AllocationStep[];
    })
  /** A running container was placed again. `policy` and `steps` are absent when it shares now. */
  | (OfContainer & {
      readonly kind: 'switched';
      readonly policy?: PolicyName;
      readonly cpus: CpuSet | undefined;
      readonly steps?: readonly AllocationStep[];
    })
  /** `isExpected`: false when the container, or its numbers, asked for CPUs of its own. */
  | (OfContainer & {
      readonly kind: 'shares' | 'left-alone';
      readonly cpus?: CpuSet | undefined;
      readonly isExpected: boolean;
    })
  /**
   * CPUs were planned for a container that is to come. `atCreation`: by a creation in its pod, which is reported
   * itself.
   */
  | (OfContainer & {
      readonly kind: 'planned';
      readonly cpus: CpuSet;
      readonly atCreation: boolean;
      readonly steps?: readonly AllocationStep[];
    })
  | (OfContainer & { readonly kind: 'released' | 'idle' | 'restored'; readonly cpus: CpuSet })
  | (OfContainer & { readonly kind: 'found-unpinned'; readonly placement: Placement | undefined })
  | (OfContainer & { readonly kind: 'not-switched' | 'container-gone' })
  | (Remark & { readonly kind: 'annotation-ignored'; readonly subject: ContainerRef })
  | (OfContainer & {
      readonly kind: 'drifted';
      readonly promised: CpuSet | undefined;
      readonly found: CpuSet;
      readonly cause: DriftCause | undefined;
    })
  /**
   * `subject` is absent when the request could not be decoded. `problem` is for the log alone: it may name other pods,
   * or the machine.
   */
  | {
      readonly kind: 'refused';
      readonly subject: PodRef | ContainerRef | undefined;
      readonly code: RefusalCode;
      readonly because: string;
      readonly problem: string | undefined;
    }
  | {
      readonly kind: 'online-cpus-changed';
      readonly online: CpuSet;
      readonly left: CpuSet;
      readonly returned: CpuSet;
    }
  /** The cgroups of the pods have other CPUs than before. `usable`: those of them that are online. */
  | {
      readonly kind: 'cpu-bound-changed';
      readonly usable: CpuSet;
      readonly left: CpuSet;
      readonly returned: CpuSet;
      readonly because: string;
    }
  /** The operator changed options while the daemon ran. */
  | { readonly kind: 'settings-changed'; readonly changes: readonly OptionChange[] };

/** A new value of an option, by its name without dashes; the texts as a user writes them, empty = not set. */
export interface OptionChange {
  readonly option: string;
  readonly from: string;
  readonly to: string;
}

import type { CpuSet } from '../../core/cpuset';
import type { Assignment } from '../../core/model/assignment';
import type { Brought } from '../../core/model/brought';
import type { Container } from '../../core/model/container';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../core/model/events';
import type { PodLevel } from '../../core/model/pod-level';
import type { PodSpec } from '../../core/model/pod-spec';
import type { MachineRecord } from './machine';

// Records of the kind `input`, field by field. The writer (`record-inputs.ts`) and the reader (`inputs/`) both compile
// against these types only where they have every field, so that no field is written and not read, or left out.

/** A pod sandbox. Its pause container decides nothing. */
export type RecordedPod = Omit<PodInfo, 'pause'>;

/** Facts of a container beside the runtime's data, as far as decisions follow from them. */
export type RecordedState = Omit<Container, keyof ContainerInfo | 'pause' | 'applied' | 'runtimeRecord'>;

type EventOf<K extends NodeEvent['kind']> = Extract<NodeEvent, { readonly kind: K }>;

/** A creation or an update. How its answer counts does not decide it. */
type RecordedRequest<K extends 'create-container' | 'update-container'> = Omit<EventOf<K>, 'counts' | 'pod'> & {
  readonly pod: RecordedPod;
};

/** The events that decisions follow from, by their kind. Phases of a container have its id alone. */
export interface RecordedEvents {
  readonly 'create-container': RecordedRequest<'create-container'>;
  readonly 'update-container': RecordedRequest<'update-container'>;
  readonly 'pod-started': { readonly kind: 'pod-started'; readonly pod: RecordedPod };
  readonly 'container-named': EventOf<'container-named'>;
  readonly 'container-created': { readonly kind: 'container-created'; readonly containerId: string };
  readonly 'container-starting': { readonly kind: 'container-starting'; readonly containerId: string };
  readonly 'container-started': { readonly kind: 'container-started'; readonly containerId: string };
  readonly 'container-stopped': EventOf<'container-stopped'>;
  readonly 'container-removed': EventOf<'container-removed'>;
  readonly 'pod-stopped': EventOf<'pod-stopped'>;
  readonly 'pod-removed': EventOf<'pod-removed'>;
  readonly 'pod-spec': EventOf<'pod-spec'>;
  readonly 'pod-spec-gone': EventOf<'pod-spec-gone'>;
}

export type RecordedEvent = RecordedEvents[keyof RecordedEvents];

/** The source of the specs of pods. */
export interface RecordedSource {
  readonly hasReported: boolean;
  readonly awaited: readonly string[];
}

/** All inputs by `of`. A list is its entries, and then `restored`, `listed`, or the event `pod-specs`. */
export interface RecordedInputs {
  /** The rules: names and texts of the options in force, the reserved CPUs, the machine. */
  readonly settings: {
    readonly options?: Readonly<Record<string, string>>;
    readonly reserved: CpuSet;
    readonly topology: MachineRecord;
  };
  readonly event: { readonly event: RecordedEvent | { readonly kind: 'pod-specs' } };
  readonly assignment: { readonly assignment: Assignment };
  readonly 'kept-spec': { readonly spec: PodSpec };
  readonly brought: { readonly brought: Brought };
  readonly 'pod-level': { readonly podLevel: PodLevel };
  readonly restored: { readonly source: RecordedSource };
  readonly pod: { readonly info: RecordedPod; readonly stopped?: true };
  readonly container: { readonly info: ContainerInfo; readonly cpus?: CpuSet; readonly state?: RecordedState };
  /** `known`: it had been reported before. `unplanned`: the reason for which nothing is planned for it. */
  readonly spec: { readonly spec: PodSpec; readonly known?: true; readonly unplanned?: string };
  /**
   * `newer`: ids of what came after the list. `start`: the node as it is, at the beginning of a file; `ahead` records
   * that follow are older.
   */
  readonly listed: {
    readonly newer?: readonly string[];
    readonly start?: true;
    readonly ahead?: number;
    readonly synchronized?: boolean;
    readonly afterGap?: true;
    readonly source?: RecordedSource;
  };
}

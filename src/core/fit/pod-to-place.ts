import type { PodSpec } from '../model/pod-spec';
import type { Amounts } from './amounts';

/** A pod as far as it decides where it fits. `kube` reads it. */
export interface PodToPlace {
  readonly spec: PodSpec;
  /** Pods of a DaemonSet run on every node, whatever its load. */
  readonly isOfDaemonSet: boolean;
  /** All CPUs in one zone, or anywhere (`topology.crane.io/topology-awareness`); undefined = as the node has it. */
  readonly awareness: boolean | undefined;
  /**
   * Crane's scheduler leaves its zones alone (`topology.crane.io/cpu-policy: none`). A node with rules of its own
   * decides by these.
   */
  readonly declines: boolean;
  /**
   * The requests of each container, by its name, of the resources that are looked at in zones; without CPU no zone
   * matters.
   */
  readonly requests: ReadonlyMap<string, Amounts>;
}

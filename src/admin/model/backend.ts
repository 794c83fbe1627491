import type { ExplainQuery, Explanation } from './explanation';
import type { ExclusiveResources } from './pod-resources';
import type { AssignmentStatus, Status, StatusChange, TopologyStatus } from './status';

/** The data of the daemon for the admin server, which needs nothing else. */
export interface AdminBackend {
  /** The full status, as of now. */
  status(): Status;
  /**
   * Calls the listener at every change until the returned function is called. The listener never throws and must not be
   * called inside `watch`.
   */
  watch(listener: (change: StatusChange) => void): () => void;
  /** All assignments beyond the shared pool, idle ones included. */
  assignments(): readonly AssignmentStatus[];
  /** The machine, and the owners of its CPUs. */
  topology(): TopologyStatus;
  /** Exclusive resources for the PodResources API. */
  podResources(): ExclusiveResources;
  /** Throws CpusetdError NOT_FOUND for an unknown pod or container, FAILED_PRECONDITION for an ambiguous one. */
  explain(query: ExplainQuery): Explanation;
}

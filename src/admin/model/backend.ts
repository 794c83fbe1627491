import type { ExplainQuery, Explanation } from './explanation';
import type { ExclusiveResources } from './pod-resources';
import type { AssignmentStatus, Status, StatusChange, TopologyStatus } from './status';

/** What the daemon tells about itself. The admin server asks for nothing else. */
export interface AdminBackend {
  /** The whole, as of now. */
  status(): Status;
  /** Calls the listener at every change until the returned function is called. The listener never throws and must not be called inside `watch`. */
  watch(listener: (change: StatusChange) => void): () => void;
  /** Who has what beyond the shared pool, idle ones included. */
  assignments(): readonly AssignmentStatus[];
  /** The machine, and who has which CPU. */
  topology(): TopologyStatus;
  /** What belongs to whom alone, as the PodResources API tells it. */
  podResources(): ExclusiveResources;
  /** Throws CpusetdError NOT_FOUND for an unknown pod or container, FAILED_PRECONDITION for an ambiguous one. */
  explain(query: ExplainQuery): Explanation;
}

import { countFreeUnits, type FreeUnits } from '../../core/model/free-units';
import type { NodeView } from '../../core/model/node-view';
import { findLargestAligned } from '../../core/node-resources/largest-aligned';
import type { AlignmentBoundary } from '../../core/topology';
import type { Status } from '../model/status';
import { listPinned, type PinnedContainers } from './container-series';

export interface MetricsSource {
  readonly status: () => Status;
  readonly node: NodeView;
  /** Series for each pinned container are among the figures. */
  readonly containerSeries?: boolean;
}

/** The readings of one scrape: each is made once, when a figure first needs it. */
export class Scrape {
  private knownStatus?: Status;
  private knownUnits?: FreeUnits;

  constructor(private readonly source: MetricsSource) {}

  get status(): Status {
    return (this.knownStatus ??= this.source.status());
  }

  get freeUnits(): FreeUnits {
    return (this.knownUnits ??= countFreeUnits(this.source.node));
  }

  get largestAligned(): Readonly<Record<AlignmentBoundary, number>> {
    return findLargestAligned(this.source.node);
  }

  get pinned(): PinnedContainers {
    return listPinned(this.status, this.source.node.topology);
  }
}

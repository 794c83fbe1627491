import { DEFAULT_PERIOD_US, wholeCpusOfShares } from '../inference';
import type { ContainerInfo } from '../model/events';

/**
 * A container that was made without our knowing, with its resources as the kubelet asked for them.
 *
 * A lifted quota in the runtime's record is most likely our own doing. Only containers whose limit was their request had
 * theirs lifted, so where that is a whole number it is known what the kubelet asked for; else it can't be seen any more.
 */
export function asAskedFor(container: ContainerInfo): ContainerInfo {
  if ((container.resources.quotaUs ?? 0) >= 0) return container;
  const { quotaUs: _lifted, ...resources } = container.resources;
  const count = wholeCpusOfShares(resources.shares ?? 0);
  if (count === undefined) return { ...container, resources };
  const quotaUs = count * (resources.periodUs ?? DEFAULT_PERIOD_US);
  return { ...container, resources: { ...resources, quotaUs } };
}

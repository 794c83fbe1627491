import type { HugePages } from '../huge-pages';
import type { ContainerInfo } from './events';
import { findContainerSpec, type PodSpec } from './pod-spec';

/**
 * The huge pages that a container asks for: those of its message, else those of its pod's spec. containerd leaves them out of its messages unless
 * its operator sets `disable_hugetlb_controller` to false.
 */
export function askedHugePages(
  spec: PodSpec | undefined,
  { name, resources }: Pick<ContainerInfo, 'name' | 'resources'>,
): HugePages | undefined {
  return resources.hugePages ?? findContainerSpec(spec, name)?.limitHugePages;
}

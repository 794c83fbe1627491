import { waitUntil } from '../../../support/wait-until';
import type { FakeNode } from './fake-node';
import type { Cluster } from './cluster';
import { totalAvailable } from './objects';

interface Sample {
  readonly sinceMs: number;
  /** The node offers no more than this when the allocation is visible. */
  readonly available: number;
}

/** Measures the time from an allocation until watchers of the node's NodeResourceTopology see it. */
export class Visibility {
  /** Finished measurements, in milliseconds. */
  readonly tookMs: number[] = [];
  private readonly open = new Map<string, Sample[]>();
  private readonly allocatable = new Map<string, number>();

  constructor(private readonly cluster: Cluster) {
    cluster.topologies.listen((_type, topology) => {
      const available = totalAvailable(topology);
      const samples = this.open.get(topology.metadata.name) ?? [];
      const seen = samples.filter((sample) => available <= sample.available);
      this.tookMs.push(...seen.map(({ sinceMs }) => performance.now() - sinceMs));
      this.open.set(
        topology.metadata.name,
        samples.filter((sample) => !seen.includes(sample)),
      );
    });
  }

  /** Begins with nodes that are empty. */
  async watch(nodes: readonly FakeNode[]): Promise<void> {
    await waitUntil('a topology of each node', () =>
      nodes.every(({ name }) => this.cluster.topologies.byName.has(name)),
    );
    for (const node of nodes)
      this.allocatable.set(node.name, totalAvailable(this.cluster.topologies.byName.get(node.name)!));
  }

  noteAllocation(node: FakeNode): void {
    const sample = { sinceMs: performance.now(), available: this.expectedOf(node) };
    this.open.set(node.name, [...(this.open.get(node.name) ?? []), sample]);
  }

  /** The node offers more from now on: open measurements are given up. */
  noteRelease({ name }: FakeNode): void {
    this.open.delete(name);
  }

  /** True when the published amount is what the runtime's containers leave. */
  isCurrent(node: FakeNode): boolean {
    return totalAvailable(this.cluster.topologies.byName.get(node.name)!) === this.expectedOf(node);
  }

  /** Published and expected amount, and the containers' CPUs; for messages. */
  describe(node: FakeNode): string {
    const available = totalAvailable(this.cluster.topologies.byName.get(node.name)!);
    return `${node.name} publishes ${available} of ${this.expectedOf(node)}; its containers have ${node.listCpusets().join(' ')}`;
  }

  private expectedOf(node: FakeNode): number {
    return this.allocatable.get(node.name)! - node.allocated;
  }
}

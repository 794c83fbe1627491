// Part of bench/extender: the Nodes of its cluster.

export interface BenchNode {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
}

/** The stamps of figures; the extender runs with the time zone UTC. */
const stampNow = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

/** A name as providers give them. */
export const nameOf = (n: number): string => `ip-10-0-${n >> 8}-${n & 255}.eu-west-1.compute.internal`;

/**
 * A Node of about 9 kB, most of it images, as nodes of real clusters are. One of ten is above a limit of the default
 * policy.
 */
export function createNode(n: number, metrics: readonly string[], version = 1): BenchNode {
  const ratio = n % 10 === 3 ? 0.9 : 0.1 + (n % 50) / 100;
  const stamp = stampNow();
  const figures = metrics.map((metric, i) => [metric, `${(ratio * (1 - i / 50)).toFixed(5)},${stamp}`]);
  const images = Array.from({ length: 40 }, (_, image) => ({
    names: [
      `registry.example/team/image-${image}@sha256:${String(image).padStart(64, 'a')}`,
      `registry.example/i:${image}`,
    ],
    sizeBytes: 1e8 + image,
  }));
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: 'False',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'KubeletHasSufficient',
    message: 'kubelet has sufficient resources available of this kind',
  }));
  const node = {
    metadata: {
      name: nameOf(n),
      uid: `uid-${n}`,
      resourceVersion: String(version),
      annotations: { ...Object.fromEntries(figures), node_hot_value: `${n % 3},${stamp}` },
    },
    spec: { podCIDR: '10.0.0.0/24' },
    status: { conditions, images },
  };
  return node;
}

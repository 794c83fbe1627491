import { type KubeClient, MERGE_PATCH } from '../../../../src/kube/api/kube-client';
import { nodesPath } from './objects';

export interface NodeToCreate {
  readonly name: string;
  readonly cpus: number;
  /** CPUs that pods can't request. Default: 0. */
  readonly reservedCpus?: number;
  readonly memoryMib: number;
  readonly reservedMemoryMib?: number;
  /** Its InternalIP. Default: none. */
  readonly address?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Creates a Node that is ready, with nothing behind it. */
export async function createNode(client: KubeClient, node: NodeToCreate): Promise<void> {
  const { name, cpus, reservedCpus = 0, memoryMib, reservedMemoryMib = 0, address, annotations = {} } = node;
  const amounts = (cpu: number, mebibytes: number) => ({ cpu: String(cpu), memory: `${mebibytes}Mi`, pods: '110' });
  const body = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name }, annotations },
    status: {
      capacity: amounts(cpus, memoryMib),
      allocatable: amounts(cpus - reservedCpus, memoryMib - reservedMemoryMib),
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
      ...(address !== undefined && { addresses: [{ type: 'InternalIP', address }] }),
    },
  };
  await client.send({ method: 'POST', path: nodesPath, body });
  // The API server taints new Nodes as not ready; a controller that is not here would remove that.
  const path = `${nodesPath}/${name}`;
  await client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body: { spec: { taints: null } } });
}

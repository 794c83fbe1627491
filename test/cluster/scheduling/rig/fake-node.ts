import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAdmin } from '../../../../src/admin/client/admin-client';
import { CpuSet, parseCpuList } from '../../../../src/core/cpuset';
import { MERGE_PATCH } from '../../../../src/kube/api/kube-client';
import { Daemon } from '../../../e2e/rig/daemon';
import { NriRuntime } from '../../../support/nri-runtime';
import { loadMachine, type SysfsTree, writeTree } from '../../../support/sysfs-tree';
import type { Cluster } from './cluster';
import { readDocumentedCommand } from './documented';
import { nodesPath } from './objects';
import { StandInKubelet } from './stand-in-kubelet';

const MIB = 2 ** 20;

export interface FakeNodeOptions {
  readonly cluster: Cluster;
  readonly name: string;
  /** A captured machine of test/fixtures/sysfs. */
  readonly machine: string;
  /** Options beside those that docs/scheduling.md gives. */
  readonly args?: readonly string[];
  readonly onAllocated?: (node: string, pod: string, cpus: number) => void;
  readonly onRelease?: (node: string) => void;
}

/** A node of the cluster on a captured machine: its Node, cpusetd as a process, a stand-in runtime and a stand-in kubelet. */
export class FakeNode {
  private constructor(
    readonly name: string,
    readonly machine: string,
    readonly kubelet: StandInKubelet,
    private readonly runtime: NriRuntime,
    private readonly numaNodes: readonly CpuSet[],
    private readonly folder: string,
    private daemon: Daemon,
    private readonly startDaemon: (args: readonly string[]) => Promise<Daemon>,
  ) {}

  static async start({ cluster, name, machine, args = [], ...told }: FakeNodeOptions): Promise<FakeNode> {
    const folder = mkdtempSync(join(tmpdir(), 'cpusetd-node-'));
    const tree = loadMachine(machine);
    writeTree(folder, tree);
    mkdirSync(join(folder, 'cgroup'));
    writeFileSync(join(folder, 'cgroup/cgroup.controllers'), 'cpuset cpu\n');
    writeFileSync(join(folder, 'kubelet.yaml'), JSON.stringify(kubeletConfig));
    const nriSocket = join(folder, 'nri.sock');
    const runtime = await NriRuntime.listen({ socketPath: nriSocket });
    await registerNode(cluster, name, tree);
    const startDaemon = async (more: readonly string[]): Promise<Daemon> => {
      const documented = readDocumentedCommand({
        'in-cluster': cluster.kubeconfig,
        '/var/lib/kubelet/config.yaml': join(folder, 'kubelet.yaml'),
      });
      const daemon = new Daemon({
        args: [
          ...documented,
          ...more,
          ...['--node-name', name, '--sysfs-root', join(folder, 'sys'), '--nri-socket', nriSocket],
          // There are no cgroups and no CRI: the stand-in runtime has a table instead of processes.
          ...['--cgroup-root', join(folder, 'cgroup'), '--cgroup-writes', 'off', '--cri-endpoint', 'off'],
          ...['--kubelet-root-dir', join(folder, 'kubelet')],
        ],
      });
      daemon.start();
      await Promise.all([daemon.ready(), daemon.waitForLog('the API server told of the pods of this node')]);
      return daemon;
    };
    const daemon = await startDaemon(args);
    const kubelet = new StandInKubelet({
      client: cluster.client,
      signal: cluster.signal,
      nodeName: name,
      runtime,
      onAllocated: (pod, cpus) => told.onAllocated?.(name, pod, cpus),
      onRelease: () => told.onRelease?.(name),
    });
    const zones = numaNodesOf(tree).map(({ cpus }) => cpus);
    return new FakeNode(name, machine, kubelet, runtime, zones, folder, daemon, startDaemon);
  }

  /** The number of CPUs that containers have for themselves. */
  get allocated(): number {
    return this.listCpusets().reduce((sum, cpus) => sum + cpus.size, 0);
  }

  /** The cpuset of each container with CPUs of its own. */
  listCpusets(): CpuSet[] {
    const guaranteed = [...this.runtime.containers.values()].filter(
      ({ linux }) => (linux?.resources?.memory?.limit?.value ?? 0n) > 0n,
    );
    return guaranteed.map((container) => parseCpuList(this.runtime.cpusOf(container)));
  }

  /** True when cpusetd says that a container of so many CPUs would get them now. */
  async fits(count: number): Promise<boolean> {
    const admin = await connectAdmin(this.daemon.adminSocket);
    try {
      const explanation = await admin.explain({ kind: 'cpus', count });
      return explanation.kind === 'what-if' && explanation.fits;
    } finally {
      admin.close();
    }
  }

  /** The contradictions in the CPUs that containers have: shared by two, reserved, or of two NUMA nodes. */
  findFaults(): string[] {
    const cpusets = this.listCpusets();
    return cpusets.flatMap((cpus, i) => [
      ...cpusets
        .slice(i + 1)
        .flatMap((other) => (cpus.intersect(other).isEmpty ? [] : [`${cpus} and ${other} overlap`])),
      ...(cpus.has(0) ? [`${cpus} has a reserved CPU`] : []),
      ...(this.numaNodes.some((node) => cpus.isSubsetOf(node)) ? [] : [`${cpus} is of several NUMA nodes`]),
    ]);
  }

  /** Starts cpusetd again, with these options beside the documented ones. */
  async restartDaemon(...args: readonly string[]): Promise<void> {
    await this.daemon.dispose();
    this.daemon = await this.startDaemon(args);
  }

  /** Stops the process of cpusetd, as on a node that is overloaded, until `resume` is called. */
  pause(): { readonly resume: () => void } {
    const { pid } = this.daemon;
    process.kill(pid, 'SIGSTOP');
    return { resume: () => void process.kill(pid, 'SIGCONT') };
  }

  async stop(): Promise<void> {
    await this.daemon.dispose();
    await this.runtime.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The reservation of all nodes: that of the documented `--kubelet-config`. */
const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  reservedSystemCPUs: '0',
  evictionHard: { 'memory.available': '100Mi' },
};

async function registerNode({ client }: Cluster, name: string, tree: SysfsTree): Promise<void> {
  const numaNodes = numaNodesOf(tree);
  const cpus = numaNodes.reduce((sum, node) => sum + node.cpus.size, 0);
  const memoryMib = numaNodes.reduce((sum, node) => sum + Math.floor(node.memoryBytes / MIB), 0);
  const amounts = (cpu: number, mebibytes: number) => ({ cpu: String(cpu), memory: `${mebibytes}Mi`, pods: '110' });
  const body = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: {
      capacity: amounts(cpus, memoryMib),
      allocatable: amounts(cpus - 1, memoryMib - 100),
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    },
  };
  await client.send({ method: 'POST', path: nodesPath, body });
  // The API server taints new Nodes as not ready; a controller that is not here would remove that.
  const path = `${nodesPath}/${name}`;
  await client.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body: { spec: { taints: null } } });
}

function numaNodesOf(tree: SysfsTree): { readonly cpus: CpuSet; readonly memoryBytes: number }[] {
  const cpulist = /^\/sys\/devices\/system\/node\/node(\d+)\/cpulist$/;
  return Object.entries(tree).flatMap(([path, cpus]) => {
    const id = cpulist.exec(path)?.[1];
    if (id === undefined) return [];
    const meminfo = tree[`/sys/devices/system/node/node${id}/meminfo`] ?? '';
    const kib = Number(/MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1]);
    return [{ cpus: parseCpuList(cpus.trim()), memoryBytes: kib * 1024 }];
  });
}

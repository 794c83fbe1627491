import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { CpuSet, parseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import {
  barredCpus,
  buildTopology,
  confineTopology,
  machineOf,
  toCacheLevel,
  type CpuInfo,
  type Topology,
} from '../../core/topology';
import type { TopologyStatus } from '../model/status';
import { decodeAssignment } from './assignment';
import { decodeNode } from './node';

export function encodeMachine(topology: Topology, offline: CpuSet): pb.Machine {
  return pb.Machine.create({
    cpus: topology.cpus.map((cpu) => pb.Cpu.create(cpu)),
    barred: listBarred(topology).map((cpu) => pb.Cpu.create(cpu)),
    offline: offline.toString(),
    memoryNodes: topology.memoryNodes.map(({ id, memoryBytes, cpus, tier, isOfGpu }) =>
      pb.MemoryNode.create({
        id,
        memoryBytes: BigInt(memoryBytes),
        cpus: cpus.toString(),
        ...(tier !== undefined && { tier }),
        ofGpu: isOfGpu === true,
      }),
    ),
    coreKinds: machineOf(topology).coreKinds.map(({ name, cpus }) =>
      pb.CoreKind.create({ name, cpus: cpus.toString() }),
    ),
    uncoreCaches: machineOf(topology)
      .uncoreCaches.filter(({ level }) => level !== 'L3')
      .map(({ id, level }) => pb.UncoreCache.create({ id, level })),
  });
}

function listBarred(topology: Topology): readonly CpuInfo[] {
  const barred = barredCpus(topology);
  return barred.isEmpty ? [] : machineOf(topology).cpus.filter(({ id }) => barred.has(id));
}

/** Without distances of memory nodes. Throws CpusetdError DATA_LOSS for an answer without a machine. */
export function decodeTopology({ machine, node, assignments }: pb.GetTopologyResponse): TopologyStatus {
  if (!machine || machine.cpus.length === 0)
    throw new CpusetdError('DATA_LOSS', 'the daemon sent no machine; is it cpusetd?');
  const decodedNode = decodeNode(node ?? pb.NodeStatus.create());
  const whole = buildTopology({
    cpus: [...machine.cpus, ...machine.barred].map(({ id, core, socket, numaNode, uncoreCache }) => ({
      id,
      core,
      socket,
      numaNode,
      uncoreCache,
    })),
    isolated: decodedNode.isolated,
    ignored: decodedNode.ignored ?? [],
    memoryNodes: machine.memoryNodes.map(({ id, memoryBytes, cpus, tier, ofGpu }) => ({
      id,
      memoryBytes: Number(memoryBytes),
      distances: new Map(),
      ...(cpus !== '' && { cpus: parseCpuList(cpus) }),
      ...(tier !== undefined && { tier }),
      ...(ofGpu && { isOfGpu: true as const }),
    })),
    coreKinds: machine.coreKinds.map(({ name, cpus }) => ({ name, cpus: parseCpuList(cpus) })),
    cacheLevels: new Map(machine.uncoreCaches.map(({ id, level }) => [id, toCacheLevel(level)])),
  });
  const usable = CpuSet.of(machine.cpus.map(({ id }) => id));
  return {
    topology: confineTopology(whole, { cgroup: decodedNode.barred?.by ?? '', cpus: usable }),
    offline: parseCpuList(machine.offline),
    node: decodedNode,
    assignments: assignments.map(decodeAssignment),
  };
}

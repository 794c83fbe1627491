import { CpuSet } from '../../src/core/cpuset';
import type { NodeModel } from '../../src/core/model/node-model';
import { decodeState } from '../../src/state';
import type { SimulatedNode } from './simulated-node';

/** The invariants that hold after every step while the daemon is up and connected. Returns what is broken. */
export function findBrokenInvariants(node: SimulatedNode): string[] {
  if (!node.daemon) return [];
  const { model } = node.daemon;
  return [
    ...setsAreDisjoint(model),
    ...setsMakeUpTheMachine(model),
    ...kernelHasWhatWasPromised(node, model),
    ...diskHasWhatWasAnswered(node, model),
  ];
}

/** 1: exclusive sets are disjoint from each other, from what was reserved when they were given, and from the pool. */
function setsAreDisjoint(model: NodeModel): string[] {
  const broken: string[] = [];
  let owned = CpuSet.empty;
  for (const { cpus, podUid, containerName, rules } of model.assignments.values()) {
    const who = `${podUid}/${containerName} ${cpus.toString()}`;
    if (cpus.isEmpty) broken.push(`1: ${who} is empty`);
    if (cpus.overlaps(owned)) broken.push(`1: ${who} overlaps another exclusive set`);
    if (cpus.overlaps(rules.reserved)) broken.push(`1: ${who} contains CPUs that were reserved`);
    owned = owned.union(cpus);
  }
  const online = owned.intersect(model.topology.online);
  if (!online.equals(model.topology.online) && model.sharedPool.overlaps(owned)) {
    broken.push(`1: the shared pool ${model.sharedPool.toString()} overlaps exclusive CPUs ${owned.toString()}`);
  }
  return broken;
}

/** 2: shared pool, exclusive and strictly reserved CPUs make up the machine; the pool is never empty. */
function setsMakeUpTheMachine(model: NodeModel): string[] {
  const strict = model.settings.options.strictCpuReservation ? model.settings.reserved : CpuSet.empty;
  const all = CpuSet.unionOf([model.sharedPool, model.exclusive, strict.intersect(model.topology.online)]);
  const broken: string[] = [];
  if (!all.equals(model.topology.online))
    broken.push(`2: ${all.toString()} is not ${model.topology.online.toString()}`);
  if (model.sharedPool.isEmpty) broken.push('2: the shared pool is empty');
  return broken;
}

/** 6 and 5: who runs is where it was promised, and nobody is on CPUs of another's own. */
function kernelHasWhatWasPromised(node: SimulatedNode, model: NodeModel): string[] {
  const broken: string[] = [];
  for (const [id, cpus] of node.kernel) {
    const container = model.containers.get(id);
    if (!container) {
      broken.push(`6: ${id} runs and is not known`);
      continue;
    }
    if (!container.promise) continue;
    if (!cpus.equals(container.promise.cpus)) {
      broken.push(`6: ${id} is on ${cpus.toString()}, promised ${container.promise.cpus.toString()}`);
    }
  }
  return broken;
}

/** 4: every exclusive set that anyone was told is in the document on disk. */
function diskHasWhatWasAnswered(node: SimulatedNode, model: NodeModel): string[] {
  if (node.diskIsFull || node.daemon?.transactor.hasUnsavedState) return [];
  const inMemory = [...model.assignments.values()].map(describe).sort().join('\n');
  const decoded = node.disk === undefined ? undefined : decodeState(node.disk);
  const onDisk = decoded?.ok ? decoded.state.assignments.map(describe).sort().join('\n') : '';
  return inMemory === onDisk ? [] : [`4: in memory\n${inMemory}\non disk\n${onDisk}`];
}

function describe(assignment: {
  podUid: string;
  containerName: string;
  cpus: CpuSet;
  containerId: string | null;
}): string {
  return `${assignment.podUid}/${assignment.containerName} ${assignment.cpus.toString()} ${assignment.containerId ?? 'idle'}`;
}

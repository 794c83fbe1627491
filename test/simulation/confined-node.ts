import { CpuSet } from '../../src/core/cpuset';
import type { Settings } from '../../src/core/model/settings';
import { confineTopology, machineOf, type CpuBound, type Topology } from '../../src/core/topology';
import type { Random } from '../support/random';
import { SimulatedNode } from './simulated-node';

/** A node whose pods have not all CPUs of the machine. Hotplug changes the machine, and the bound stays. */
export class ConfinedNode extends SimulatedNode {
  constructor(
    machine: Topology,
    settings: Settings,
    private bound: CpuBound,
  ) {
    super(confineTopology(machine, bound), settings, true);
  }

  override changeTopology(machine: Topology): void {
    super.changeTopology(confineTopology(machine, this.bound));
  }

  changeBound(bound: CpuBound): void {
    this.bound = bound;
    this.changeTopology(machineOf(this.topology));
  }
}

/** Most of the machine, little of it, or all. */
export function randomBound(random: Random, machine: Topology): CpuBound {
  const ids = machine.online.toArray();
  const share = random.pick([0.2, 0.6, 0.9, 1]);
  const some = ids.filter(() => random.chance(share));
  return { cgroup: random.pick(['/', '/kubepods']), cpus: CpuSet.of(some.length > 0 ? some : [random.pick(ids)]) };
}

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { loadMachine, type SysfsTree } from '../../test/support/sysfs-tree';
import { NoCommand } from './no-command';

/** The names of the captured machines in test/fixtures/sysfs. */
export function listMachines(): string[] {
  const files = readdirSync(join(projectRoot(), 'test/fixtures/sysfs'));
  return files.flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -'.json'.length)] : [])).sort();
}

/**
 * The machine of a name: a captured one, or one that is made from its shape.
 *
 * @throws when the text is neither, with the names that there are
 */
export function findMachine(name: string): SysfsTree {
  if (listMachines().includes(name)) return loadMachine(name);
  const shape = parseShape(name);
  if (shape) return makeMachine(shape);
  throw new NoCommand(
    `"${name}" is no machine; give a shape, SOCKETSxCORESxTHREADS with -Nnuma for N NUMA nodes in all, such as ` +
      `2x16x2-4numa, of at most ${MAX_CPUS} CPUs, or one of: ${listMachines().join(', ')}`,
  );
}

interface Shape {
  readonly sockets: number;
  /** Of each socket. */
  readonly cores: number;
  /** Of each core. */
  readonly threads: number;
  /** Of the machine: as many in each socket. */
  readonly nodes: number;
}

/** More make each round of the daemon slow. */
const MAX_CPUS = 1024;

/** Undefined when the text is no shape, or one that no machine has. */
function parseShape(text: string): Shape | undefined {
  const [, ...parts] = /^(\d{1,4})x(\d{1,4})x(\d{1,4})(?:-(\d{1,4})numa)?$/.exec(text) ?? [];
  if (parts.length === 0) return undefined;
  const [sockets, cores, threads] = parts.map(Number) as [number, number, number];
  const nodes = Number(parts[3] ?? sockets);
  const cpus = sockets * cores * threads;
  const isEven = nodes % sockets === 0 && (sockets * cores) % nodes === 0;
  return cpus >= 2 && cpus <= MAX_CPUS && nodes > 0 && isEven ? { sockets, cores, threads, nodes } : undefined;
}

/** The sysfs of a machine as servers number their CPUs: first a thread of each core, then the next thread of each. */
function makeMachine({ sockets, cores, threads, nodes }: Shape): SysfsTree {
  const allCores = sockets * cores;
  const online = `0-${allCores * threads - 1}\n`;
  /** The CPUs of neighbouring cores. */
  const list = (first: number, count: number): string =>
    Array.from({ length: threads }, (_, thread) => {
      const from = thread * allCores + first;
      return count === 1 ? String(from) : `${from}-${from + count - 1}`;
    }).join(',');
  const root = '/sys/devices/system';
  const perNode = allCores / nodes;
  const tree: Record<string, string> = { [`${root}/node/online`]: nodes === 1 ? '0\n' : `0-${nodes - 1}\n` };
  for (const name of ['online', 'present', 'possible']) tree[`${root}/cpu/${name}`] = online;
  for (let cpu = 0; cpu < allCores * threads; cpu++) {
    const core = cpu % allCores;
    const socket = Math.floor(core / cores);
    const node = Math.floor(core / perNode);
    const folder = `${root}/cpu/cpu${cpu}`;
    tree[`${folder}/topology/core_id`] = `${core % cores}\n`;
    tree[`${folder}/topology/physical_package_id`] = `${socket}\n`;
    tree[`${folder}/topology/core_cpus_list`] = `${list(core, 1)}\n`;
    tree[`${folder}/topology/package_cpus_list`] = `${list(socket * cores, cores)}\n`;
    tree[`${folder}/cache/index3/level`] = '3\n';
    tree[`${folder}/cache/index3/id`] = `${node}\n`;
    tree[`${folder}/cache/index3/shared_cpu_list`] = `${list(node * perNode, perNode)}\n`;
  }
  for (let node = 0; node < nodes; node++) {
    const distances = Array.from({ length: nodes }, (_, other) => (other === node ? 10 : 20));
    tree[`${root}/node/node${node}/cpulist`] = `${list(node * perNode, perNode)}\n`;
    tree[`${root}/node/node${node}/meminfo`] = `Node ${node} MemTotal: ${16 * 2 ** 20} kB\n`;
    tree[`${root}/node/node${node}/distance`] = `${distances.join(' ')}\n`;
  }
  return tree;
}

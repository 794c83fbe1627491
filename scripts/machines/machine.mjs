// Reads the short descriptions of machines. See test/machines/descriptions.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

const count = z.number().int().positive();
const range = z.string().regex(/^\d+(-\d+)?$/);

/** One memory node. Cores are counted through the machine from 0, socket after socket. */
const node = z.strictObject({
  /** Absent: a node without CPUs. */
  cores: range.optional(),
  /** Absent: an even share. 0: a node without memory. */
  memoryMib: z.number().int().min(0).optional(),
});

const fields = z.strictObject({
  /** The purpose of this machine, in one sentence. */
  about: z.string(),
  sockets: count,
  /** Of one socket. */
  cores: count,
  /** Of one core. */
  threads: count,
  /** L3 caches of one socket, over equal groups of its cores. */
  cachesPerSocket: count.default(1),
  /** A number: so many, over equal groups of cores in their order. */
  nodes: z.union([count, z.array(node).min(1)]).default(1),
  /**
   * The kernel's numbers for the threads of a core: 0,1 (as in most virtual machines) or 0,N/2 (as on most real ones).
   */
  siblings: z.enum(['adjacent', 'apart']).default('adjacent'),
  memoryMib: count.default(2048),
  /** Taken offline before anything starts; kernel list format. */
  offline: z.string().default(''),
  /** More for the kernel's command line, such as isolcpus=. */
  kernelArguments: z.array(z.string()).default([]),
  cgroup: z.enum(['v1', 'v2']).default('v2'),
  /**
   * Debian's kernel for clouds, which boots faster, or the one for all machines, which has more: emulated NUMA nodes.
   */
  kernel: z.enum(['cloud', 'generic']).default('cloud'),
  /** The Debian suite that containerd and all else but the kernel is from. */
  suite: z.enum(['trixie', 'sid']).default('trixie'),
  runtime: z.enum(['runc', 'crun']).default('runc'),
  init: z.enum(['plain', 'systemd']).default('plain'),
  /** The mode of cpusetd. With the CRI proxy, the runtime has NRI switched off. */
  mode: z.enum(['nri', 'cri-proxy']).default('nri'),
  /** Too slow for every change: runs when asked for by name, or with --all. */
  slow: z.boolean().default(false),
  /** Of processor time, several times what a machine needs. */
  limitSeconds: count.default(900),
});
const description = fields.refine(({ kernel, cgroup }) => kernel === 'cloud' || cgroup === 'v2', {
  path: ['kernel'],
  error: 'the generic kernel is one without cpusets on cgroup v1',
});

/** @typedef {ReturnType<typeof resolveMachine>} Machine */

/**
 * Reads the descriptions of all machines.
 * @param {string} [folder] with the descriptions
 * @returns {Machine[]} by name
 */
export function readMachines(folder = fileURLToPath(new URL('../../test/machines/descriptions', import.meta.url))) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => readMachine(folder, file.replace(/\.yaml$/, '')));
}

/** @param {string} folder @param {string} name */
function readMachine(folder, name) {
  const parsed = description.safeParse(parse(readFileSync(join(folder, `${name}.yaml`), 'utf8')));
  if (!parsed.success) throw new Error(`machine ${name}: ${z.prettifyError(parsed.error)}`);
  return resolveMachine({ name, ...parsed.data });
}

/**
 * Fills in the cores and the memory of each node.
 * @param {z.infer<typeof description> & { name: string }} machine
 */
export function resolveMachine(machine) {
  const total = machine.sockets * machine.cores;
  /** @type {z.infer<typeof node>[]} */
  const listed =
    typeof machine.nodes === 'number'
      ? Array.from({ length: machine.nodes }, (_, index) => {
          const share = total / Number(machine.nodes);
          return { cores: `${index * share}-${(index + 1) * share - 1}` };
        })
      : machine.nodes;
  const open = listed.filter(({ memoryMib }) => memoryMib === undefined).length;
  const given = listed.reduce((sum, { memoryMib = 0 }) => sum + memoryMib, 0);
  const nodes = listed.map(({ cores, memoryMib }) => ({
    cores: cores === undefined ? [] : expandRange(cores),
    memoryMib: memoryMib ?? Math.floor((machine.memoryMib - given) / open),
  }));
  const covered = nodes.flatMap(({ cores }) => cores);
  if (covered.length !== total || new Set(covered).size !== total)
    throw new Error(`machine ${machine.name}: its nodes must hold each of its ${total} cores once`);
  return { ...machine, nodes };
}

/**
 * The kernel's number for a thread.
 * @param {Pick<Machine, 'sockets' | 'cores' | 'threads'> & Partial<Pick<Machine, 'siblings'>>} machine
 * @param {number} core
 * @param {number} thread
 * @returns {number}
 */
export function cpuNumber({ sockets, cores, threads, siblings }, core, thread) {
  return siblings === 'apart' ? thread * sockets * cores + core : core * threads + thread;
}

/** @param {string} text */
function expandRange(text) {
  const [first = 0, last = first] = text.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

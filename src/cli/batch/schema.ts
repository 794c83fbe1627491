import { z } from 'zod';

/** How allocations are asked for and answered as JSON lines. CPU sets are texts in the kernel's list format. */

const how = {
  id: z.union([z.string(), z.number()]),
  topology: z.string(),
  algorithm: z.enum(['packed', 'distributed']),
  strategy: z.enum(['packed', 'spread']).default('packed'),
  preferAlignByUncoreCache: z.boolean().default(false),
  cpuGroupSize: z.int().min(1).default(1),
};

const cpuCount = z.int().min(0);

/** One allocation. */
const assignmentLine = z.object({ ...how, available: z.string(), numCPUs: cpuCount });

/** Allocations and releases, one after another, on one machine. */
const sequenceLine = z.object({
  ...how,
  numReserved: cpuCount.default(0),
  steps: z.array(
    z.discriminatedUnion('op', [
      z.object({ op: z.literal('alloc'), name: z.string(), numCPUs: cpuCount }),
      z.object({ op: z.literal('free'), name: z.string() }),
    ]),
  ),
});

export const batchLine = z.union([sequenceLine, assignmentLine]);

const id = z.int().min(0);

/** A machine: its online CPUs as `[cpu, core, socket, NUMA node, uncore cache]`. */
export const topologyLine = z.object({ name: z.string(), cpus: z.array(z.tuple([id, id, id, id, id])).min(1) });

export type AssignmentLine = z.infer<typeof assignmentLine>;
export type SequenceLine = z.infer<typeof sequenceLine>;
export type BatchLine = z.infer<typeof batchLine>;

/** What is wrong with a line, in one line: the first fault and where it is. */
export function explainFault({ issues }: z.ZodError): string {
  const deepest = issues.flatMap((issue) => (issue.code === 'invalid_union' ? issue.errors.flat() : [issue]));
  const [first] = deepest;
  return first ? `${first.path.join('.') || 'the line'}: ${first.message}` : 'not a line of this format';
}

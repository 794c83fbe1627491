import * as z from 'zod/mini';

/** Requests for allocations as JSON lines. CPU sets are texts in the kernel's list format. */

/** Fields that a line leaves out are taken from the options of the command. */
const how = {
  id: z.union([z.string(), z.number()]),
  topology: z.optional(z.string()),
  algorithm: z.optional(z.enum(['packed', 'distributed'])),
  strategy: z.optional(z.enum(['packed', 'spread'])),
  preferAlignByUncoreCache: z.optional(z.boolean()),
  cpuGroupSize: z.optional(z.int().check(z.minimum(1))),
};

const cpuCount = z.int().check(z.minimum(0));

/** One allocation. */
const assignmentLine = z.object({ ...how, available: z.optional(z.string()), numCPUs: cpuCount });

/** Allocations and releases, one after another, on one machine. */
const sequenceLine = z.object({
  ...how,
  numReserved: z._default(cpuCount, 0),
  steps: z.array(
    z.discriminatedUnion('op', [
      z.object({ op: z.literal('alloc'), name: z.string(), numCPUs: cpuCount }),
      z.object({ op: z.literal('free'), name: z.string() }),
    ]),
  ),
});

/** A line is a sequence when it has steps. */
export function parseBatchLine(value: unknown): z.core.util.SafeParseResult<BatchLine> {
  const isSequence = typeof value === 'object' && value !== null && 'steps' in value;
  return isSequence ? sequenceLine.safeParse(value) : assignmentLine.safeParse(value);
}

export type AssignmentLine = z.infer<typeof assignmentLine>;
export type SequenceLine = z.infer<typeof sequenceLine>;
export type BatchLine = AssignmentLine | SequenceLine;

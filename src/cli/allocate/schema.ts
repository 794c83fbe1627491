import * as z from 'zod/mini'; // a twentieth of the size of 'zod' in the bundle

/** How allocations are asked for and answered as JSON lines. CPU sets are texts in the kernel's list format. */

/** What a line leaves out is taken from the command's own options. */
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

const id = z.int().check(z.minimum(0));

/** As many as Linux is built for at most. */
const MAX_CPUS = 8192;

/** A machine: its online CPUs as `[cpu, core, socket, NUMA node, uncore cache]`. */
export const topologyLine = z.object({
  name: z.string(),
  cpus: z.array(z.tuple([id, id, id, id, id])).check(z.minLength(1), z.maxLength(MAX_CPUS)),
});

export type AssignmentLine = z.infer<typeof assignmentLine>;
export type SequenceLine = z.infer<typeof sequenceLine>;
export type BatchLine = AssignmentLine | SequenceLine;

/** What is wrong with a line, in one line: the first fault and where it is. */
export function explainFault({ issues }: z.core.$ZodError): string {
  const [first] = issues.flatMap((issue) => (issue.code === 'invalid_union' ? (issue.errors.at(-1) ?? issue) : issue));
  return first ? `${first.path.join('.') || 'the line'}: ${describeIssue(first)}` : 'not a line of this format';
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${issue.expected}`;
    case 'invalid_value':
      return `expected ${issue.values.join(' or ')}`;
    case 'too_small':
      return `expected at least ${String(issue.minimum)}`;
    case 'too_big':
      return `expected at most ${String(issue.maximum)}`;
    default:
      return 'not a value of this format';
  }
}

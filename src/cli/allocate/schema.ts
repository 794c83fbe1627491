import * as z from 'zod/mini';
import { quote } from '../../option-types/value-type';
import { explainSchemaFault } from '../format/schema-fault';

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

/**
 * Fields of answers, and of recorded answers of a kubelet: with them a line can be asked as it is. They are not read.
 */
const answerFields = [
  ...['result', 'error', 'because', 'freed', 'reserved', 'finalAvailable'],
  ...['fixed', 'variants', 'outside', 'short', 'slow', 'kubelet'],
];
const ofLine = listFields('a line', Object.keys(assignmentLine.shape), answerFields);
const ofSequence = listFields('a line with steps', Object.keys(sequenceLine.shape), answerFields);
/** A recorded step has what was free after it. */
const ofStep = listFields('a step', ['op', 'name', 'numCPUs'], [...answerFields, 'available']);

export type ParsedLine =
  { readonly ok: true; readonly line: BatchLine } | { readonly ok: false; readonly error: string };

/** A line is a sequence when it has steps. A field without a meaning is a fault: it may be a misspelt one. */
export function parseBatchLine(value: unknown): ParsedLine {
  const isSequence = typeof value === 'object' && value !== null && 'steps' in value;
  const parsed = isSequence ? sequenceLine.safeParse(value) : assignmentLine.safeParse(value);
  if (!parsed.success) return { ok: false, error: explainSchemaFault(parsed.error) };
  const steps = isSequence ? (value.steps as readonly object[]) : [];
  const error =
    findUnknownField(value as object, isSequence ? ofSequence : ofLine) ??
    steps.map((step) => findUnknownField(step, ofStep)).find((found) => found !== undefined);
  return error === undefined ? { ok: true, line: parsed.data } : { ok: false, error };
}

/** The fields that an object may have. */
interface FieldList {
  /** The name of such an object in a sentence. */
  readonly what: string;
  readonly known: readonly string[];
  readonly allowed: ReadonlySet<string>;
}

function listFields(what: string, known: readonly string[], ignored: readonly string[]): FieldList {
  return { what, known, allowed: new Set([...known, ...ignored]) };
}

function findUnknownField(value: object, { what, known, allowed }: FieldList): string | undefined {
  const unknown = Object.keys(value).find((field) => !allowed.has(field));
  return unknown === undefined ? undefined : `${quote(unknown)} is no field of ${what}; these are ${known.join(', ')}`;
}

export type AssignmentLine = z.infer<typeof assignmentLine>;
export type SequenceLine = z.infer<typeof sequenceLine>;
export type BatchLine = AssignmentLine | SequenceLine;

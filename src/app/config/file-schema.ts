import * as z from 'zod/mini';
import { nameOf, OPTION_KEYS, OPTIONS, restartReason, describeDefault } from './options';
import { GROUP_NAME, NODE_GROUPS, NODE_PATTERN, NOT_IN_GROUPS } from './read-file';
import { describeLabels } from '../../option-types/kube-types';
import { describeInFile, type Zod } from '../../option-types/value-type';

const USED: Zod = {
  array: z.array,
  boolean: z.boolean,
  enum: z.enum,
  int: z.int,
  literal: z.literal,
  maximum: z.maximum,
  minimum: z.minimum,
  minLength: z.minLength,
  nonnegative: z.nonnegative,
  number: z.number,
  positive: z.positive,
  record: z.record,
  regex: z.regex,
  string: z.string,
  union: z.union,
};

interface Note extends Record<string, unknown> {
  readonly title?: string;
  readonly description: string;
}

/**
 * The structure of a config file as a JSON Schema (draft 7, which editors know best), made from the table of options.
 * It is for editors: `loadConfig` reads the file by the same table and says more exactly what is wrong, so nothing that
 * starts the daemon loads this module.
 */
export function createFileSchema(): object {
  const notes = z.registry<Note>();
  const names = {
    'node-names': noted(
      notes,
      z.array(z.string().check(z.regex(NODE_PATTERN))).check(z.minLength(1)),
      'names of Nodes; * stands for any text',
    ),
  };
  const labels = {
    'node-labels': noted(notes, describeLabels(USED), 'labels that the Node has, all of them'),
  };
  const group = z.strictObject({
    name: noted(notes, z.string().check(z.regex(GROUP_NAME)), 'for messages, and for cpusetd config explain'),
    match: z.union([
      z.strictObject({ ...names, 'node-labels': z.optional(labels['node-labels']) }),
      z.strictObject(labels),
    ]),
    options: z.strictObject(describeOptions(notes, NOT_IN_GROUPS)),
  });
  const groups = noted(notes, z.array(group), 'options for some nodes; the most specific group of a node wins');
  const file = z.strictObject({ ...describeOptions(notes), [NODE_GROUPS]: z.optional(groups) });
  notes.add(file, { title: 'options of cpusetd run', description: 'a file for cpusetd run --config' });
  return joinTypes(z.toJSONSchema(file, { target: 'draft-7', metadata: notes })) as object;
}

/** Keywords that say nothing about a value of another type. */
const OF_ONE_TYPE = new Set(['pattern', 'minLength', 'minimum', 'maximum', 'exclusiveMinimum', 'items', 'minItems']);

/**
 * The same schema with fewer choices: where each choice is another type, one schema names all types. A validator then
 * says what is wrong with the value that it got; of choices it says of each why the value is not that (Helm: five lines
 * for a typo).
 */
function joinTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(joinTypes);
  if (typeof schema !== 'object' || schema === null) return schema;
  const joined = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, joinTypes(value)]));
  const { anyOf, ...rest } = joined;
  if (!Array.isArray(anyOf)) return joined;
  const choices = anyOf as readonly { readonly type?: unknown }[];
  const types = choices.flatMap(({ type }) => type ?? 'any');
  const keywords = choices.flatMap((choice) => Object.keys(choice).filter((key) => key !== 'type'));
  const areApart =
    !types.includes('any') &&
    areDistinct(types.map((type) => (type === 'integer' ? 'number' : type))) &&
    areDistinct(keywords) &&
    keywords.every((key) => OF_ONE_TYPE.has(key));
  return areApart ? { ...(Object.assign({}, ...choices) as object), type: types, ...rest } : joined;
}

const areDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

type Notes = z.core.$ZodRegistry<Note>;

function noted<S extends z.ZodMiniType>(notes: Notes, schema: S, description: string): S {
  notes.add(schema, { description });
  return schema;
}

function describeOptions(notes: Notes, without: readonly string[] = []): Record<string, z.ZodMiniType> {
  const options: Record<string, z.ZodMiniType> = {};
  for (const key of OPTION_KEYS) {
    if (without.includes(nameOf(key))) continue;
    const { type, description } = OPTIONS[key];
    const restart = restartReason(key) === undefined ? '' : '. A change needs a restart';
    const text = `${description} (${describeDefault(key)})${restart}`;
    options[nameOf(key)] = z.optional(noted(notes, describeInFile(type, USED), text));
  }
  return options;
}

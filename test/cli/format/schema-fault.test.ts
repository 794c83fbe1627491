import * as z from 'zod/mini';

import { explainSchemaFault } from '../../../src/cli/format/schema-fault';

const SCHEMA = z.object({
  count: z.int().check(z.minimum(0)),
  names: z.optional(z.array(z.string()).check(z.maxLength(2))),
  mode: z.optional(z.enum(['packed', 'spread'])),
});

test.each<[unknown, string]>([
  [1, 'the line: expected object'],
  [{ count: 'x' }, 'count: expected number'],
  [{ count: -1 }, 'count: expected at least 0'],
  [{ count: 1, names: ['a', 2] }, 'names.1: expected string'],
  [{ count: 1, names: ['a', 'b', 'c'] }, 'names: expected at most 2'],
  [{ count: 1, mode: 'best' }, 'mode: expected packed or spread'],
])('the fault of %j is explained as: %s', (value, text) => {
  const { error } = SCHEMA.safeParse(value);
  expect(explainSchemaFault(error!)).toBe(text);
});

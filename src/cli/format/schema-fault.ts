import type * as z from 'zod/mini';

/** The first fault of a line of JSON and its place, as one line of text. */
export function explainSchemaFault({ issues }: z.core.$ZodError): string {
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

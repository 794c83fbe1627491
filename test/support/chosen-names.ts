/**
 * Reads the names that an environment variable chooses, with commas between, in the order of `known`. Undefined when it
 * chooses none.
 *
 * @throws Error for a name that is not known: tests that nobody meant to leave out would not be defined, and nothing
 * would say so.
 */
export function readChosenNames<Name extends string>(
  variable: string,
  known: readonly Name[],
): readonly Name[] | undefined {
  const chosen = (process.env[variable] ?? '').split(',').filter((name) => name !== '');
  if (chosen.length === 0) return undefined;
  const unknown = chosen.filter((name) => !(known as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new Error(`${variable} has ${unknown.join(', ')}; there are ${known.join(', ')}, with commas between`);
  return known.filter((name) => chosen.includes(name));
}

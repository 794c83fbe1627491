/**
 * Replaces the first place of a text, such as a configuration file that another program wrote.
 *
 * @throws when there is no such place: the test would go on without what it set
 */
export function replaceIn(text: string, found: string | RegExp, replacement: string): string {
  if (typeof found === 'string' ? !text.includes(found) : !found.test(text))
    throw new Error(
      `nothing to replace: ${typeof found === 'string' ? JSON.stringify(found) : found} is not in ${text}`,
    );
  return text.replace(found, () => replacement);
}

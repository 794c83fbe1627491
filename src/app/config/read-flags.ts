import { describePlace, type Setting, type Source } from './setting';

/** Flags by name without dashes, with all values that were given, in order. The names are known to be right. */
export function readFlags(flags: Readonly<Record<string, readonly string[]>>): Source {
  const settings: Setting[] = [];
  const problems: string[] = [];
  for (const [name, texts] of Object.entries(flags)) {
    const origin = { kind: 'flag' } as const;
    if (texts.length > 1) {
      problems.push(`${describePlace({ name, origin })}: is given ${texts.length} times; give it once`);
    }
    for (const text of texts.slice(0, 1)) settings.push({ name, text, origin });
  }
  return { settings, problems };
}

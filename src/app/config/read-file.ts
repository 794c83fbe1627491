import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node } from 'yaml';

import { readBounded } from '../../files/read-bounded';
import { parseYaml } from '../../files/parse-yaml';
import { listOffered, nameOf } from './options';
import type { Setting, Source } from './setting';
import { excerpt } from './types/value-type';
import { plural } from '../../core/text';

const MAX_BYTES = 64 * 1024;
/** Maximum number of problems of one file in a message. A file that is no YAML at all has one at every character. */
const MAX_PROBLEMS = 20;

/**
 * The settings of a YAML or JSON file: one mapping from option names to values. Lists are joined with commas, mappings
 * become `k=v`, and a scalar is taken as it is written, so that `05` and `1e3` stay what they are.
 */
export function readConfigFile(path: string): Source {
  const read = readBounded(path, MAX_BYTES);
  if (!read.ok) {
    const remedy = read.kind === 'too-large' ? 'is it the right one?' : 'check the path';
    return { settings: [], problems: [`--config ${path}: ${read.because}; ${remedy}`], unread: 'all' };
  }
  const { settings, problems, unread = [] } = readSettings(path, read.text);
  const rest = problems.length - MAX_PROBLEMS;
  const more = rest > 0 ? [`${path}: ${plural(rest, 'more fault')}; correct the file`] : [];
  return { settings, problems: [...problems.slice(0, MAX_PROBLEMS), ...more], unread };
}

function readSettings(path: string, text: string): Source {
  const lines = new LineCounter();
  const parsed = parseYaml(text, lines);
  const unreadable = (...problems: string[]): Source => ({ settings: [], problems, unread: 'all' });
  if (!parsed.ok) return unreadable(`${path}:1: ${parsed.because}; write lines like reserved-cpus: 0-1`);
  const { document } = parsed;
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;

  const broken = document.errors.map(
    ({ code, message, pos }) => `${path}:${lineAt(pos[0])}: ${REASONS[code] ?? message}; correct the file`,
  );
  if (broken.length > 0) return unreadable(...broken);
  if (document.contents === null) return { settings: [], problems: [] };
  if (!isMap(document.contents)) return unreadable(`${path}:1: is not a mapping; write lines like reserved-cpus: 0-1`);

  const seen = new Set<string>();
  const known = new Set(listOffered().map(nameOf));
  const settings: Setting[] = [];
  const problems: string[] = [];
  const unread: string[] = [];
  for (const { key, value } of document.contents.items) {
    const name = isScalar(key) ? String(key.value) : '(a key that is not a word)';
    const line = lineAt((key as Node | null)?.range?.[0]);
    const resolved = isAlias(value) ? value.resolve(document) : value;
    const written = writeAsText(resolved);
    if (seen.has(name)) problems.push(`${path}:${line}: an option is set twice; correct the file`);
    else if (!known.has(name)) {
      const shown = excerpt(name);
      problems.push(`${path}:${line}: ${shown}: no such option; remove it, or see cpusetd run --help for the names`);
    } else if (written === undefined) {
      unread.push(name);
      problems.push(`${path}:${line}: ${name}: has no value that can be read; write one text, list or mapping`);
    } else settings.push({ name, text: written, origin: { kind: 'file', path, line } });
    seen.add(name);
  }
  return { settings, problems, unread };
}

const REASONS: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'holds more than one document',
};

/** Undefined for null and for nested collections. */
function writeAsText(value: unknown): string | undefined {
  if (isScalar(value)) {
    if (value.value === null) return undefined;
    return typeof value.value === 'string' ? value.value : value.source;
  }
  if (isSeq(value)) return joinAll(value.items.map((item) => (isScalar(item) ? writeAsText(item) : undefined)));
  if (!isMap(value)) return undefined;
  return joinAll(
    value.items.map(({ key, value: of }) => {
      const [name, text] = [key, of].map((part) => (isScalar(part) ? writeAsText(part) : undefined));
      return name === undefined || text === undefined ? undefined : `${name}=${text}`;
    }),
  );
}

function joinAll(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : parts.join(',');
}

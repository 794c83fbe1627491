import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';

import { readRegularFile } from '../../state/read-regular-file';
import { listOffered, nameOf } from './options';
import type { Setting, Source } from './setting';
import { excerpt } from './value-type';

const MAX_BYTES = 1 << 20;
/** So many faults of one file are told; nobody reads the hundredth. */
const MAX_PROBLEMS = 20;

/**
 * The settings of a YAML or JSON file: one mapping from option names to values. Lists are joined with commas, mappings
 * become `k=v`, and a scalar is taken as it is written, so that `05` and `1e3` stay what they are.
 */
export function readConfigFile(path: string): Source {
  const text = readText(path);
  if (typeof text !== 'string') return { settings: [], problems: [text.problem] };
  const { settings, problems } = readSettings(path, text);
  const [shown, rest] = [problems.slice(0, MAX_PROBLEMS), problems.length - MAX_PROBLEMS];
  return { settings, problems: rest > 0 ? [...shown, `${path}: ${rest} more faults; correct the file`] : shown };
}

function readText(path: string): string | { problem: string } {
  try {
    const read = readRegularFile(path, { maxBytes: MAX_BYTES, own: false });
    return read.kind === 'text' ? read.text : { problem: `--config ${path}: ${read.because}; check the path` };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return { problem: `--config ${path}: ${UNREADABLE[code] ?? `can't be read (${code})`}; check the path` };
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'is a folder, not a file',
  ENXIO: 'is not a regular file',
  ELOOP: 'is a symbolic link that goes round in circles',
};

function readSettings(path: string, text: string): Source {
  const lines = new LineCounter();
  // Looking for keys that are there twice is left to us: the parser compares each with each.
  const document = parse(text, lines);
  if (document === undefined)
    return { settings: [], problems: [`${path}:1: is nested too deep; write lines like reserved-cpus: 0-1`] };
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;

  const broken = document.errors.map(
    ({ code, message, pos }) => `${path}:${lineAt(pos[0])}: ${REASONS[code] ?? message}; correct the file`,
  );
  if (broken.length > 0) return { settings: [], problems: broken };
  if (document.contents === null) return { settings: [], problems: [] };
  if (!isMap(document.contents)) {
    return { settings: [], problems: [`${path}:1: is not a mapping; write lines like reserved-cpus: 0-1`] };
  }

  const seen = new Set<string>();
  const known = new Set(listOffered().map(nameOf));
  const settings: Setting[] = [];
  const problems: string[] = [];
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
      problems.push(`${path}:${line}: ${name}: has no value that can be read; write one text, list or mapping`);
    } else settings.push({ name, text: written, origin: { kind: 'file', path, line } });
    seen.add(name);
  }
  return { settings, problems };
}

/**
 * Undefined for what is nested deeper than anything of ours. The parser calls itself for each level: at the end of the stack
 * an expression that is compiled there ends the process, and no error comes of it.
 */
function parse(text: string, lineCounter: LineCounter) {
  return isDeep(text) ? undefined : parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
}

const MAX_DEPTH = 100;

/** Never less than what the parser makes of it: brackets that are open, and indents and marks of one line. */
function isDeep(text: string): boolean {
  let open = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open = bracket === '[' || bracket === '{' ? open + 1 : Math.max(0, open - 1);
    if (open > MAX_DEPTH) return true;
  }
  return text
    .split(/[\r\n]/)
    .some((line) => line.search(/[^ \t]|$/) > MAX_DEPTH || (line.match(/[-?:](?=\s)/g)?.length ?? 0) > MAX_DEPTH);
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

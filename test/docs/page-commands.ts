// Pages whose commands a test runs: blocks of `bash`, and below a block what it prints, a block of `text`.

/** A block of commands of a page. */
export interface PageCommands {
  /** The heading above it. */
  readonly section: string;
  /** The number of its first line on the page. */
  readonly line: number;
  readonly commands: string;
  /** The output that the page shows below it, if any. */
  readonly shown?: string;
  /**
   * `operator`: in one shell, in the root of the project. `node`: as root on the node. `nobody`: the test does it in
   * another way.
   */
  readonly runBy: 'operator' | 'node' | 'nobody';
}

/** The comments right above a block that say who runs it. */
const marks: Readonly<Record<string, PageCommands['runBy']>> = {
  '<!-- on the node -->': 'node',
  '<!-- not run by the test of this page -->': 'nobody',
};

/**
 * All blocks of a page in their order. @throws when a block is neither commands nor what the block right above it
 * prints
 */
export function readPageCommands(page: string): PageCommands[] {
  const lines = page.split('\n');
  const found: PageCommands[] = [];
  let section = '';
  let isBelowCommands = false;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const language = /^ *(?:```|~~~)(.*)$/.exec(line)?.[1];
    if (language === undefined) {
      if (line.startsWith('#')) section = line.replace(/^#+ /, '');
      if (line.startsWith('    ')) throw new Error(`line ${i + 1} is an indented block`);
      if (line !== '') isBelowCommands = false;
      continue;
    }
    const first = i + 1;
    const end = lines.indexOf('```', first);
    if (end < 0) throw new Error(`the block of line ${first} has no end`);
    const text = lines.slice(first, end).join('\n');
    if (language === 'bash') {
      found.push({ section, line: first + 1, commands: text, runBy: marks[lines[i - 1] ?? ''] ?? 'operator' });
      isBelowCommands = true;
    } else if (language === 'text' && isBelowCommands) {
      found.push({ ...found.pop()!, shown: text });
      isBelowCommands = false;
    } else throw new Error(`the block of line ${first} is neither commands (bash) nor what they print (text)`);
    i = end;
  }
  return found;
}

interface Placeholder {
  readonly pattern: string;
  /** True when it has one value on the whole page. */
  readonly isFixed: boolean;
}

const cpuList: Placeholder = { pattern: '\\d+(?:[,-]\\d+)*', isFixed: true };
const placeholders: Readonly<Record<string, Placeholder>> = {
  node: { pattern: '[a-z0-9][a-z0-9.-]*', isFixed: true },
  cpu: { pattern: '\\d+', isFixed: true },
  others: cpuList,
  all: cpuList,
  version: { pattern: '\\d+\\.\\d+\\.\\d+\\S*', isFixed: false },
};

/** The values of the fixed placeholders, by their names. */
export type Values = Readonly<Record<string, string>>;

/**
 * Compares output with what the page shows: the same lines, where any number of spaces is as good as another one.
 * `<name>` stands for a placeholder's value, `…` for any text, and alone on a line for any number of lines.
 * @param known values that are known by now
 * @returns these and those that the output has; undefined when the output is another one
 */
export function matchShown(output: string, shown: string, known: Values = {}): Values | undefined {
  const named = new Set<string>();
  const toPattern = (part: string): string => {
    const name = /^<([a-z]+)>$/.exec(part)?.[1];
    if (name === undefined) return part === '…' ? '.*' : /^\s+$/.test(part) ? '[ \\t]+' : escape(part);
    const placeholder = placeholders[name];
    if (placeholder === undefined) throw new Error(`<${name}> is no placeholder`);
    if (!placeholder.isFixed) return placeholder.pattern;
    if (known[name] !== undefined) return escape(known[name]);
    if (named.has(name)) return `\\k<${name}>`;
    named.add(name);
    return `(?<${name}>${placeholder.pattern})`;
  };
  const lines = shown.split('\n').map((line) => {
    if (line.trim() === '…') return '(?:.*\\n)*?';
    const parts = line.trimEnd().split(/(…|\s+|<[a-z]+>)/);
    return `${parts.map(toPattern).join('')}[ \\t]*\\n`;
  });
  const match = new RegExp(`^${lines.join('')}$`).exec(`${output.trimEnd()}\n`);
  return match === null ? undefined : { ...known, ...match.groups };
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

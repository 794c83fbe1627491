import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './markdown';

// Finds the commands on the pages. Indented blocks are commands, or lines after `$ ` with their output. A fenced block
// has commands in lines after `$ `, or in all lines when its language is that of a shell. In sentences and tables they
// are in backticks.

/** A program with its arguments, as a shell splits them: without sudo, assignments, redirections and comments. */
export interface PageCommand {
  /** The path in the project. */
  readonly page: string;
  /** Counts from 1. */
  readonly line: number;
  readonly words: readonly string[];
  /** The names of the variables that are set for it. */
  readonly variables: readonly string[];
  /** False for a command in a sentence, which may lack arguments. */
  readonly isComplete: boolean;
}

type ShellCommand = Pick<PageCommand, 'line' | 'words' | 'variables'>;

interface Block {
  readonly line: number;
  readonly lines: readonly string[];
  readonly kind: 'indented' | 'fenced' | 'shell';
}

const FOLDERS = ['bench', 'deploy', 'docs', 'examples', 'proto', 'scripts', 'src', 'test'];
/** Written by hand once, or by a script with what programs print. */
const NOT_READ = ['CHANGELOG.md', 'test/machines/last-run.md'];

/** The paths of the project's pages. */
export function listPages(): string[] {
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return [...readdirSync(ROOT), ...below].filter((path) => path.endsWith('.md') && !NOT_READ.includes(path)).sort();
}

/** The commands of a page. In sentences they are what `isCommand` says of their words. */
export function listCommands(
  page: string,
  text: string,
  isCommand: (words: readonly string[]) => boolean = () => false,
): PageCommand[] {
  const { blocks, prose } = splitPage(text);
  const inBlocks = blocks.flatMap(readBlock).map((command) => ({ ...command, page, isComplete: true }));
  const inProse = prose.flatMap(({ line, text }) =>
    [...text.matchAll(/`([^`]+)`/g)]
      .flatMap(([, span]) => listChoices(span!.replaceAll('\\|', '|')))
      .flatMap((span) => splitScript(span, line))
      .filter(({ words }) => isCommand(words))
      .map((command) => ({ ...command, page, isComplete: false })),
  );
  return [...inBlocks, ...inProse]
    .flatMap((command) => [command, ...listInner(command)])
    .sort((a, b) => a.line - b.line);
}

/** The blocks of a page that are commands and nothing else, as scripts. */
export function listScripts(text: string): string[] {
  return splitPage(text)
    .blocks.filter((block) => block.kind !== 'fenced' && !block.lines.some(isPrompt))
    .map(({ lines }) => {
      const indent = Math.min(...lines.filter((line) => line.trim() !== '').map(indentOf));
      return lines.map((line) => line.slice(indent)).join('\n');
    });
}

/** The command that `kubectl exec` runs in a container. */
function listInner(command: PageCommand): PageCommand[] {
  const { words } = command;
  const dashes = words.indexOf('--');
  return words[0] === 'kubectl' && words.includes('exec') && dashes > 0
    ? [{ ...command, words: words.slice(dashes + 1), variables: [] }]
    : [];
}

/** `a|b` for `x a` and `x b`. */
function listChoices(span: string): string[] {
  const choice = /(?<=\s)[\w-]+(?:\|[\w-]+)+/.exec(span);
  if (!choice) return [span];
  return choice[0].split('|').map((alternative) => span.replace(choice[0], alternative));
}

const isPrompt = (line: string): boolean => /^\s*\$ /.test(line);
const indentOf = (line: string): number => line.length - line.trimStart().length;

/**
 * Separates blocks from the lines around them. A block that is indented has four spaces more than the text of the list
 * that it is in.
 */
export function splitPage(text: string): { blocks: Block[]; prose: { line: number; text: string }[] } {
  const blocks: Block[] = [];
  const prose: { line: number; text: string }[] = [];
  const lines = text.split('\n');
  let lists: number[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const indent = indentOf(line);
    const base = lists.filter((column) => column <= indent).at(-1) ?? 0;
    const [, fence, language = ''] = /^\s*(`{3,})\s*(\S*)/.exec(line) ?? [];
    const first = i;
    if (fence !== undefined) {
      while (++i < lines.length && lines[i]!.trim() !== fence);
      const kind = /^(?:sh|bash|shell|console)$/.test(language) ? 'shell' : 'fenced';
      blocks.push({ line: first + 2, lines: lines.slice(first + 1, i), kind });
    } else if (line.trim() !== '' && indent >= base + 4 && (lines[i - 1] ?? '').trim() === '') {
      let end = i;
      for (let j = i; j < lines.length && (lines[j]!.trim() === '' || indentOf(lines[j]!) >= base + 4); j++)
        if (lines[j]!.trim() !== '') end = j;
      i = end;
      blocks.push({ line: first + 1, lines: lines.slice(first, end + 1), kind: 'indented' });
    } else if (line.trim() !== '') {
      const [marker] = /^\s*(?:[-*]|\d+\.)\s+/.exec(line) ?? [];
      if (marker !== undefined) lists = [...lists.filter((column) => column <= indent), marker.length];
      else if ((lines[i - 1] ?? '').trim() === '') lists = lists.filter((column) => column <= indent);
      prose.push({ line: i + 1, text: line });
    }
  }
  return { blocks, prose };
}

function readBlock({ line, lines, kind }: Block): ShellCommand[] {
  if (!lines.some(isPrompt)) return kind === 'fenced' ? [] : splitScript(lines.join('\n'), line);
  let continues = false;
  const script = lines.map((text) => {
    const isTaken = isPrompt(text) || continues;
    continues = isTaken && text.endsWith('\\');
    return isTaken ? text.replace(/^\s*\$ /, '') : '';
  });
  return splitScript(script.join('\n'), line);
}

/** The commands of a script whose first line has this number. It knows what the pages use of a shell. */
export function splitScript(script: string, firstLine = 1): ShellCommand[] {
  const found: ShellCommand[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let line = firstLine;
  let begun = firstLine;
  let isRedirected = false;
  let hereDoc: string | undefined;
  const endWord = (): void => {
    if (word === undefined) return;
    if (hereDoc === '') hereDoc = word;
    else if (!isRedirected) words.push(word);
    isRedirected = false;
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    const command = toCommand(words);
    if (command.words.length > 0) found.push({ line: begun, ...command });
    words = [];
  };
  for (let i = 0; i < script.length; i++) {
    const char = script[i]!;
    if (words.length === 0 && word === undefined) begun = line;
    const [nested] = /^[$<>]\((?!\()/.exec(script.slice(i, i + 3)) ?? [];
    if (char === '\\') {
      if (script[++i] === '\n') line++;
      else word = (word ?? '') + (script[i] ?? '');
    } else if (char === "'" || char === '"') {
      const end = closingQuote(script, i);
      word = (word ?? '') + script.slice(i + 1, end);
      line += script.slice(i, end).split('\n').length - 1;
      i = end;
    } else if (nested !== undefined) {
      const end = script.indexOf(')', i);
      found.push(...splitScript(script.slice(i + 2, end), line));
      word = `${word ?? ''}${script.slice(i, end + 1)}`;
      i = end;
    } else if (char === '#' && word === undefined) {
      while (i + 1 < script.length && script[i + 1] !== '\n') i++;
    } else if (char === '<' && !script.startsWith('<<', i) && /^<[\w-]+>/.test(script.slice(i))) {
      word = (word ?? '') + char; // <name> is a placeholder
      while (script[i] !== '>') word += script[++i]!;
    } else if (char === '>' || char === '<') {
      if (word !== undefined && /^\d$/.test(word)) word = undefined;
      endWord();
      if (script.startsWith('<<', i)) hereDoc = '';
      while (/[<>&-]/.test(script[i + 1] ?? '')) i++;
      isRedirected = hereDoc !== '' && !/\d/.test(script[i + 1] ?? '');
      if (/\d/.test(script[i + 1] ?? '')) i++;
    } else if (/[;&|()\n]/.test(char)) {
      endCommand();
      if (char !== '\n') continue;
      line++;
      if (hereDoc === undefined) continue;
      const body = script.slice(i + 1).split('\n');
      const length = body.indexOf(hereDoc) + 1 || body.length;
      i += body.slice(0, length).join('\n').length + 1;
      line += length;
      hereDoc = undefined;
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? '') + char;
  }
  endCommand();
  return found;
}

function closingQuote(script: string, from: number): number {
  const quote = script[from];
  for (let i = from + 1; i < script.length; i++) {
    if (script[i] === quote) return i;
    if (quote === '"' && script[i] === '\\') i++;
  }
  return script.length;
}

/** Takes the words of the shell's own away, and what only stands before a command. */
function toCommand(all: readonly string[]): Pick<ShellCommand, 'words' | 'variables'> {
  if (all[0] === 'for') return { words: [], variables: [] };
  const isAssignment = (word: string): boolean => /^[A-Za-z_]\w*=/.test(word);
  const isSkipped = (word: string): boolean =>
    isAssignment(word) || /^(?:do|done|if|then|else|fi|while|sudo)$/.test(word);
  const start = all.findIndex((word) => !isSkipped(word));
  const before = start < 0 ? all : all.slice(0, start);
  const variables = before.filter(isAssignment).map((word) => word.split('=')[0]!);
  return { words: start < 0 ? [] : all.slice(start), variables };
}

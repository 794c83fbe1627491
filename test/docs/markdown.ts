import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DOCS = join(__dirname, '../../docs');

/** The root of the project. */
export const ROOT = dirname(DOCS);

/** A fenced block that carries a name in front of it. */
const EXAMPLE = /(?<=<!-- example: ([\w-]+) -->\n```\n)([^]*?)(?=```)/g;

/** The text of a page in docs/. With `showExample` its examples are written anew first. */
export function readPage(name: string, showExample?: (name: string) => string): string {
  const path = join(DOCS, name);
  const text = readFileSync(path, 'utf8');
  if (!showExample) return text;
  const updated = text.replace(EXAMPLE, (_block, example: string) => `${showExample(example)}\n`);
  writeFileSync(path, updated);
  return updated;
}

/** The examples of a page by their names. */
export function listExamples(page: string): Map<string, string> {
  return new Map([...page.matchAll(EXAMPLE)].map(([, name, text]) => [name!, text!.trimEnd()]));
}

/** Rows of the first table below a heading, without its head; cells without their code marks. */
export function readTable(page: string, heading: string): string[][] {
  const from = page.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`the page has no heading "${heading}"`);
  const rows: string[] = [];
  for (const line of page.slice(from).split('\n').slice(2)) {
    if (line.startsWith('|')) rows.push(line);
    else if (rows.length > 0 || line.startsWith('#')) break;
  }
  if (rows.length < 3) throw new Error(`there is no table below "${heading}"`);
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.replaceAll('`', '').replaceAll('\\|', '|').trim()),
  );
}

/**
 * Tables that are not rendered as such: without a head, or with rows of another width. Gives the first line of each, or
 * the odd row.
 */
export function listBrokenTables(text: string): string[] {
  const lines = text.replaceAll(/^( *)(```+)[^]*?^\1\2$/gm, (block) => block.replaceAll(/^.*$/gm, '')).split('\n');
  const isRow = (line: string | undefined): boolean => line?.trimStart().startsWith('|') === true;
  return lines.flatMap((line, index) => {
    if (!isRow(line) || isRow(lines[index - 1])) return [];
    const end = lines.findIndex((other, at) => at > index && !isRow(other));
    const rows = lines.slice(index, end === -1 ? undefined : end);
    if (!/^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/.test(rows[1] ?? '')) return [line];
    return rows.filter((row) => countCells(row) !== countCells(line));
  });
}

function countCells(row: string): number {
  return row.trim().split(/(?<!\\)\|/).length;
}

/** The pages of the project's folder, every page of the other folders, and every file of deploy. */
export function listFiles(): string[] {
  const folders = ['bench', 'deploy', 'docs', 'examples', 'proto', 'scripts', 'src', 'test'];
  const below = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith('.md') || (folder === 'deploy' && statSync(join(ROOT, path)).isFile())),
  );
  return ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md', ...below.sort()];
}

/** A reference of a file: the target of a link, or a path of the project in backticks or in a comment. */
interface Reference {
  readonly text: string;
  readonly isLink: boolean;
}

/** Folders whose paths are checked: those of the project, and the layers of `src`, as in `core/cpuset`. */
const FOLDERS = new Set(['src', 'test', 'docs', 'scripts', 'bench', 'deploy', 'examples', ...listFolder('src')]);

/** References of a file, by its path in the project, that lead to no file, no folder or no heading. */
export function listBrokenReferences(path: string, text: string): string[] {
  return listReferences(path, text)
    .filter((reference) => !leadsSomewhere(path, text, reference))
    .map((reference) => reference.text);
}

function listReferences(path: string, text: string): Reference[] {
  if (!path.endsWith('.md')) {
    const pages = [...text.matchAll(/\b(?:docs|deploy)\/[\w/-]+\.md(?:#[\w-]+)?/g)];
    return pages.map(([page]) => ({ text: page, isLink: false }));
  }
  const prose = withoutBlocks(text);
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({ text: target!, isLink: true }));
  const spans = [...prose.matchAll(/`([\w-]+\/[^`\s]*)`/g)].filter(([, span]) => FOLDERS.has(span!.split('/')[0]!));
  return [
    ...links.filter((link) => !/^\w+:/.test(link.text)),
    ...spans.map(([, span]) => ({ text: span!, isLink: false })),
  ];
}

function leadsSomewhere(path: string, text: string, { text: reference, isLink }: Reference): boolean {
  const [name, anchor] = reference.split('#') as [string, string?];
  const target = isLink && name ? join(dirname(path), name) : name || path;
  const isFound = target === path || findPath(target) || (!isLink && findSource(target));
  if (!isFound) return false;
  if (anchor === undefined) return true;
  return listAnchors(target === path ? text : readFileSync(join(ROOT, target), 'utf8')).has(anchor);
}

/** True when a path below `src` exists; a file may stand without `.ts`. */
function findSource(path: string): boolean {
  return findPath(join('src', path)) || findPath(join('src', `${path}.ts`));
}

/** True when a path of the project exists, or one that fits its wildcards: `*`, `{a,b}`, `<name>`, `NAME`, `…`. */
function findPath(path: string): boolean {
  if (existsSync(join(ROOT, path))) return true;
  const glob = path.replace(/<[^>]+>|…|\b(?!README|PROTOCOL)[A-Z]{2,}\b/g, '*');
  const steps = glob.split('/').map((step) => ({ step, isPattern: /[*{]/.test(step) }));
  if (!steps.some(({ isPattern }) => isPattern)) return false;
  let folders = [''];
  for (const { step, isPattern } of steps) {
    const candidates = folders.flatMap((folder) =>
      isPattern
        ? listFolder(folder)
            .filter((entry) => toPattern(step).test(entry))
            .map((entry) => join(folder, entry))
        : [join(folder, step)],
    );
    folders = candidates.filter((candidate) => existsSync(join(ROOT, candidate)));
  }
  return folders.length > 0;
}

function listFolder(folder: string): string[] {
  const path = join(ROOT, folder);
  return existsSync(path) && statSync(path).isDirectory() ? readdirSync(path) : [];
}

function toPattern(step: string): RegExp {
  const source = step
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\{([^}]*)\}/g, (_all, names: string) => `(?:${names.replaceAll(',', '|')})`);
  return new RegExp(`^${source}$`);
}

/** Anchors of the headings of a page. A repeated heading has a number. */
function listAnchors(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of withoutBlocks(page).matchAll(/^#+ (.*)$/gm)) {
    const anchor = toAnchor(title!);
    let repeated = anchor;
    for (let n = 1; anchors.has(repeated); n++) repeated = `${anchor}-${n}`;
    anchors.add(repeated);
  }
  return anchors;
}

function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

function withoutBlocks(page: string): string {
  return page.replace(/^ *```[^]*?^ *```/gm, '');
}

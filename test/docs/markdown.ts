import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DOCS = join(__dirname, '../../docs');

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

/** Links to files of the project that lead nowhere. */
export function listBrokenLinks(page: string): string[] {
  const targets = [...page.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => target!);
  return targets.filter((target) => !/^\w+:/.test(target) && !existsSync(join(DOCS, target)));
}

/** Anchors of the same page that no heading has. */
export function listBrokenAnchors(page: string): string[] {
  const anchors = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, title]) => toAnchor(title!)));
  return [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor!).filter((anchor) => !anchors.has(anchor));
}

function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** The root of the project. */
export const ROOT = dirname(DOCS);

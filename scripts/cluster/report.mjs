// The tables of test/cluster/RESULTS.md: scenarios by kind of node, from the results of jest.

/**
 * @typedef {object} Assertion a test, as `jest --json` reports it
 * @property {string[]} ancestorTitles
 * @property {string} title
 * @property {string} status
 * @property {number | null} [duration] in ms
 */
/** @typedef {{ testResults: { assertionResults: Assertion[] }[] }} JestResults */

/** The place of the table in the page. @type {[string, string]} */
const marks = ['<!-- table -->', '<!-- end of table -->'];

/** The end of a group's title that names the kind of node: `[sid, nri]`. */
const kindPattern = / \[(\w+), ([\w-]+)\]$/;
/** The start of the title of a group of tests that can't run here: see test/support/not-run.ts. */
const notRunPattern = /^\[not run: /;

/**
 * Two tables in Markdown. The first has a row for each scenario that runs on several kinds of nodes, and a column for
 * each kind; the second has the scenarios that run once. The cells are the seconds of each that held.
 * @param {JestResults} results
 * @returns {string}
 */
export function formatTables({ testResults }) {
  /** @type {Map<string, Map<string, string>>} */
  const rows = new Map();
  for (const { ancestorTitles, title, status, duration } of testResults.flatMap((file) => file.assertionResults)) {
    const [group = '', ...inner] = ancestorTitles.filter((each) => !notRunPattern.test(each));
    const kind = kindPattern.exec(group)?.slice(1).join(', ') ?? 'stand-in nodes';
    const name = [group.replace(kindPattern, ''), ...inner, title].join(': ').replaceAll('|', '\\|');
    const cells = rows.get(name) ?? new Map();
    rows.set(name, cells.set(kind, formatCell(status, duration)));
  }
  const all = [...rows].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const repeated = all.filter(([, cells]) => cells.size > 1);
  const kinds = [...new Set(repeated.flatMap(([, cells]) => [...cells.keys()]))].sort();
  const once = all.filter(([, cells]) => cells.size === 1).map(([name, cells]) => [name, ...([...cells][0] ?? [])]);
  return [
    formatGrid([
      ['scenario', ...kinds],
      ...repeated.map(([name, cells]) => [name, ...kinds.map((kind) => cells.get(kind) ?? '')]),
    ]),
    formatGrid([['scenario', 'on', 'seconds'], ...once]),
  ].join('\n\n');
}

/** @param {string[][]} rows the first one is the head */
function formatGrid([head = [], ...rows]) {
  /** @param {string[]} cells */
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** @param {string} status @param {number | null | undefined} duration */
function formatCell(status, duration) {
  if (status === 'passed') return ((duration ?? 0) / 1000).toFixed(1);
  return status === 'failed' ? 'FAILED' : 'not run';
}

/**
 * Puts the table between the marks of the page.
 * @param {string} page
 * @param {string[]} parts paragraphs and tables
 * @returns {string}
 */
export function updatePage(page, parts) {
  const [before, rest] = page.split(marks[0]);
  const after = rest?.split(marks[1])[1];
  if (after === undefined) throw new Error(`the page has no ${marks.join(' … ')}`);
  return [before, [marks[0], ...parts, marks[1]].join('\n\n'), after].join('');
}

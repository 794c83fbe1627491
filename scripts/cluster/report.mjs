// The table of docs/clusters.md: scenarios by kind of node, from the results of jest.

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

/**
 * The table in Markdown: a row for each test, a column for each kind of node, the seconds of each that held.
 * @param {JestResults} results
 * @returns {string}
 */
export function formatTable({ testResults }) {
  /** @type {Map<string, Map<string, string>>} */
  const rows = new Map();
  /** @type {Set<string>} */
  const kinds = new Set();
  for (const { ancestorTitles, title, status, duration } of testResults.flatMap((file) => file.assertionResults)) {
    const [group = ''] = ancestorTitles;
    const kind = kindPattern.exec(group)?.slice(1).join(', ') ?? 'any node';
    kinds.add(kind);
    const name = [group.replace(kindPattern, ''), ...ancestorTitles.slice(1), title].join(': ');
    const cells = rows.get(name) ?? new Map();
    rows.set(name, cells.set(kind, formatCell(status, duration)));
  }
  const columns = [...kinds].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return [
    `| scenario | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...[...rows].map(([name, cells]) => `| ${name} | ${columns.map((kind) => cells.get(kind) ?? '').join(' | ')} |`),
  ].join('\n');
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

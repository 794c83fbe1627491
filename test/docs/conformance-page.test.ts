import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Difference, KINDS } from '../conformance/kubelet/kinds';
import { projectRoot } from '../e2e/rig/project-root';

const page = join(projectRoot(), 'docs/conformance.md');
const [begin, end] = ['<!-- kinds -->\n', '<!-- end of kinds -->'];

const rowOf = ([kind, { what, right, why, issues }]: [string, Difference]): string => {
  const links = issues.map((issue) => `[#${issue}](https://github.com/kubernetes/kubernetes/issues/${issue})`);
  return `| \`${kind}\` | ${what} | ${right} | ${why} | ${links.join(', ')} |`;
};

test('the page has the table of all kinds of differences', () => {
  const head = ['| kind | difference | right | because | kubernetes |', '|---|---|---|---|---|'];
  const table = `${[...head, ...Object.entries<Difference>(KINDS).map(rowOf)].join('\n')}\n`;
  const text = readFileSync(page, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const [found, after] = rest.split(end);
  if (process.env['UPDATE_DOCS']) writeFileSync(page, [before, begin, table, end, after].join(''));
  else expect(found).toBe(table);
});

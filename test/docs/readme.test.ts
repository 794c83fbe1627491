import { listExamples, readPage } from './markdown';
import { showSession } from './node';

const SESSION = { commands: ['cpusetd topology'] };

let page = readPage('../README.md');

beforeAll(async () => {
  if (!process.env['UPDATE_DOCS']) return;
  const shown = await showSession(SESSION);
  page = readPage('../README.md', () => shown);
});

test('the picture of the README is what the command prints', async () => {
  expect([...listExamples(page)]).toEqual([['topology', await showSession(SESSION)]]);
});

test('the first screen says what it is, shows it, installs it three ways, and has the limits and the two commands', () => {
  const [screen = ''] = page.split('\n## ');
  const pictures = [...screen.matchAll(/!\[[^\]]+\]\(docs\/pictures\/([^)]+)\)/g)].map(([, name]) => name);
  expect(pictures).toEqual(['page.webp', 'status.svg']);
  const ways = [...screen.matchAll(/^\| (\w+), .* \| `(apt|helm|npm) /gm)].map(
    ([, way, program]) => `${way!}: ${program!}`,
  );
  expect(ways).toEqual(['package: apt', 'chart: helm', 'service: npm']);
  expect(screen).toContain('(docs/comparison.md#when-to-take-something-else)');
  expect(screen).toContain('\n    npm run demo\n    npm test\n');
  for (const words of ['**Exclusive** means', '**Maturity', '**Do not use it**']) expect(screen).toContain(words);
  expect(screen.split('\n').length).toBeLessThan(50);
});

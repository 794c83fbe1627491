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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { EVENT_OF_METHOD } from '../../src/nri/protocol';
import { readPage, readTable, ROOT } from './markdown';

const page = readPage('write-an-nri-plugin.md');

test('given the example on the page, then it is the file, and each example has less than 60 lines', () => {
  const shown = [...page.matchAll(/<!-- source: (\S+) -->\n```ts\n([^]*?)```/g)];
  expect(shown.map(([, file]) => file)).toEqual(['examples/env-from-annotation.ts']);
  for (const [, file, text] of shown) expect(text).toBe(readFileSync(join(ROOT, file!), 'utf8'));
  for (const name of ['env-from-annotation', 'log-containers'])
    expect(readFileSync(join(ROOT, `examples/${name}.ts`), 'utf8').split('\n').length).toBeLessThan(60);
});

test('given the table of handlers, then it has one row for each event and the three requests of every plugin', () => {
  const events = Object.keys(EVENT_OF_METHOD).map((method) => `${method[0]!.toLowerCase()}${method.slice(1)}`);
  const named = readTable(page, '## Handlers').map(([handler]) => handler);
  expect(named.sort()).toEqual(['configure', 'synchronize', 'shutdown', ...events].sort());
});

test('given the name of the tarball on the page, then npm writes one of this name', () => {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, string>;
  expect(new Set(page.match(/\bcpusetd-[\d.]+\.tgz/g))).toEqual(new Set([`${name}-${version}.tgz`]));
});

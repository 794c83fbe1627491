import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readPage, ROOT } from './markdown';
import { readPageCommands } from './page-commands';

// test/cluster/quick-start.test.ts runs the commands of the page on a node.

const page = readPage('quick-start.md');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

test('the test of the page runs each block but the two ways to bring the image to the node', () => {
  const others = readPageCommands(page).filter(({ runBy }) => runBy === 'nobody');
  expect(others.map(({ section }) => section)).toEqual(Array(2).fill('2. Bring the image to the node'));
});

test('the page and the overlay have the image of this version', () => {
  const named = [...page.matchAll(/cpusetd[-:](\d[\w.]*\w)(?=-image\.tar| |$)/gm)].map(([, found]) => found);
  expect(named.length).toBeGreaterThanOrEqual(6);
  expect(new Set(named)).toEqual(new Set([version]));
  const overlay = parse(readFileSync(join(ROOT, 'deploy/overlays/quick-start/kustomization.yaml'), 'utf8')) as object;
  expect(overlay).toMatchObject({ images: [{ name: 'cpusetd', newName: 'localhost/cpusetd', newTag: version }] });
});

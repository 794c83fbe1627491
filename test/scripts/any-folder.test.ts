import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

test('no script takes the pathname of a URL for a path of a file: it has %20 in a folder with a space in its name', () => {
  const files = ['scripts', 'bench', 'src'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  const scripts = files.filter((path) => /\.[cm]?[jt]s$/.test(path));
  expect(scripts.length).toBeGreaterThan(200);
  const found = scripts.filter((path) =>
    /import\.meta\.url\)\.pathname|\broot\.pathname/.test(readFileSync(join(ROOT, path), 'utf8')),
  );
  expect(found).toEqual([]);
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '../fixtures/kubectl');

/** Compares with a file of test/fixtures/kubectl; with UPDATE_DOCS=1 it is written instead. */
export function expectGolden(name: string, text: string): void {
  const path = join(FOLDER, `${name}.txt`);
  if (process.env['UPDATE_DOCS']) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(path, text);
  }
  expect(text).toBe(readFileSync(path, 'utf8'));
}

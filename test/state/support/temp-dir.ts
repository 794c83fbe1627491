import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a new folder for each call, and removes all of them after the test file. */
export function useTempDirs(): () => string {
  const made: string[] = [];
  afterAll(() => made.forEach((dir) => rmSync(dir, { recursive: true, force: true })));
  return () => {
    const dir = mkdtempSync(join(tmpdir(), 'cpusetd-state-'));
    made.push(dir);
    return dir;
  };
}

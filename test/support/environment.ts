import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Circus } from '@jest/types';
import { TestEnvironment } from 'jest-environment-node';
import { HOST_PATHS, HOST_VARIABLES } from './host-paths';

/** The temporary folder of the worker. */
const outer = tmpdir();

/**
 * The surroundings of one test file: a temporary folder of its own, which processes that it starts get as TMPDIR, and
 * no daemon of the host. The file fails when it leaves something in the folder, or has made a default path of the host.
 */
export default class CleanEnvironment extends TestEnvironment {
  private readonly folder: string;
  private readonly found: readonly string[];

  constructor(...given: ConstructorParameters<typeof TestEnvironment>) {
    const folder = mkdtempSync(join(outer, 'cpusetd-'));
    chmodSync(folder, 0o755); // a test may take the rights of another user
    // Before the file gets its copy of the variables. A command that looks for a daemon by its defaults finds none,
    // whatever the host has.
    process.env['TMPDIR'] = folder;
    for (const name of HOST_VARIABLES) process.env[name] = join(folder, 'none', name);
    super(...given);
    this.folder = folder;
    this.found = listHostPaths();
  }

  /**
   * Drops what a clean-up adds when the test has failed already and so never set the thing to close: it would hide the
   * cause.
   */
  handleTestEvent(event: Circus.Event): void {
    if (event.name !== 'test_done') return;
    const { errors } = event.test;
    errors.splice(0, errors.length, ...errors.filter((error, i) => i === 0 || !isOfMissingValue(error)));
  }

  override async teardown(): Promise<void> {
    await super.teardown();
    process.env['TMPDIR'] = outer;
    for (const name of HOST_VARIABLES) Reflect.deleteProperty(process.env, name);
    const left = readdirSync(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
    const made = listHostPaths().filter((path) => !this.found.includes(path));
    if (left.length > 0) throw new Error(`The tests are over, but these files are left of them: ${left.join(', ')}`);
    if (made.length > 0) throw new Error(`The tests are over, but they made paths of the host: ${made.join(', ')}`);
  }
}

/** @param error an error, or a pair with the place of the test */
function isOfMissingValue(error: unknown): boolean {
  const [thrown] = [error].flat() as ({ readonly message?: unknown } | undefined)[]; // an Error of the file's own realm
  return String(thrown?.message).startsWith('Cannot read properties of undefined');
}

function listHostPaths(): readonly string[] {
  return HOST_PATHS.filter((path) => existsSync(path));
}

// The course of every publishing: options, checks, the list of what is sent, and the sending.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { messageOf } from '../shared/errors.mjs';
import { checkCommit } from './checks.mjs';

/** @import { Check } from './checks.mjs' */

/**
 * @typedef {object} Request
 * @property {string} root the project's folder
 * @property {string} version
 * @property {string} release the folder of the release
 * @property {Record<string, string | undefined>} values of the options that take one
 * @property {boolean} isPlain a registry without TLS and login
 */
/** @typedef {{ file: string, bytes: number, digest: string, to: string, content?: string[] }} Item */
/**
 * @typedef {object} Plan
 * @property {Check[]} checks besides those of the commit
 * @property {Item[]} items what is sent where
 * @property {string[][]} commands those that `send` runs, for the reader
 * @property {() => void | Promise<void>} send
 * @property {() => void} [close] removes what the plan has made
 */
/**
 * @typedef {object} Publisher
 * @property {string} name
 * @property {Record<string, { type: 'string', example: string, isOptional?: boolean }>} options those that take a
 * value, besides
 *   --release
 * @property {(request: Request) => Plan} plan
 */

/** An option that is missing or wrong. */
export class UsageError extends Error {}

/**
 * Publishes by the arguments of this process, or with --dry-run says what would be published. The exit status is 1 when
 * a check or the sending fails, and 2 when an option is wrong.
 * @param {Publisher} publisher
 */
export async function publish(publisher) {
  const { name } = publisher;
  try {
    process.exitCode = await run(publisher);
  } catch (error) {
    console.error(`publish ${name}: ${messageOf(error)}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/** @param {Publisher} publisher */
async function run({ name, options, plan: makePlan }) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { isDryRun, ...read } = readOptions(options, root);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const plan = makePlan({ root, version, ...read });
  try {
    const checks = [...checkCommit(root, version), ...plan.checks];
    console.log(formatPlan(name, isDryRun, plan, checks));
    const failed = checks.filter(({ remedy }) => remedy !== undefined).length;
    if (failed > 0) throw new Error(`${failed} of ${checks.length} checks failed; nothing is sent`);
    if (isDryRun) console.log('dry run: nothing is sent');
    else {
      await plan.send();
      console.log('sent');
    }
    return 0;
  } finally {
    plan.close?.();
  }
}

/** @param {Publisher['options']} options @param {string} root */
function readOptions(options, root) {
  const { release, 'plain-http': isPlain, 'dry-run': isDryRun, ...rest } = parseOptions(options, root);
  const others = /** @type {Record<string, unknown>} */ (rest);
  for (const [name, { example, isOptional = false }] of Object.entries(options))
    if (others[name] === undefined && !isOptional)
      throw new UsageError(`--${name} is missing: no address is built in; give one, such as --${name} ${example}`);
  const values = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)]));
  return { release: resolve(release), isPlain, isDryRun, values };
}

/** @param {Publisher['options']} options @param {string} root */
function parseOptions(options, root) {
  const common = /** @type {const} */ ({
    release: { type: 'string', default: join(root, 'dist/release') },
    'plain-http': { type: 'boolean', default: false },
    'dry-run': { type: 'boolean', default: false },
  });
  try {
    const { values } = parseArgs({ options: { ...options, ...common } });
    return /** @type {typeof values & { release: string, 'plain-http': boolean, 'dry-run': boolean }} */ (values);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** @param {string} name @param {boolean} isDryRun @param {Plan} plan @param {Check[]} checks */
function formatPlan(name, isDryRun, { items, commands }, checks) {
  return [
    `publish ${name}: this ${isDryRun ? 'would be' : 'is'} sent`,
    ...items.flatMap(({ file, bytes, digest, to, content = [] }) => [
      `  ${file}: ${bytes} bytes, ${digest}`,
      `    to ${to}`,
      ...content.map((line) => `    ${line}`),
    ]),
    'by',
    ...commands.map((words) => `  ${words.join(' ')}`),
    'checks',
    ...checks.map(({ what, remedy }) =>
      remedy === undefined ? `  ok    ${what}` : `  FAIL  ${what}\n        remedy: ${remedy}`,
    ),
  ].join('\n');
}

/**
 * Runs a command with the terminal of this process. What it prints is passed on, and returned.
 * @param {string[]} words
 * @param {{ cwd?: string }} [options]
 * @throws {Error} unless it exits with 0
 */
export function runCommand([program = '', ...args], options = {}) {
  const { status, stdout, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['inherit', 'pipe', 'inherit'],
    ...options,
  });
  if (error) throw error;
  process.stdout.write(stdout);
  if (status !== 0) throw new Error(`${program} ended with ${status}: its message is above`);
  return stdout;
}

// Builds, once, unmodified programs of other projects from the Go modules that the folders here pin, and keeps them in
// the cache.
//
// node scripts/go-programs/build.mjs NAME...|--all prints the folder of each module's programs; else says why there is
// none, and
// ends with 3 when this machine has no Go or no way to the modules, with 1 otherwise
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnceAsync, cacheDir } from '../shared/cache.mjs';
import { codeOf, messageOf } from '../shared/errors.mjs';
import { hasCommand, installPackages } from '../shared/host-commands.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';
import { EndedFromOutside, runWithProgress } from '../shared/run-with-progress.mjs';
import { writeChangedCopy } from './changed-copy.mjs';
import { moduleNames, readRecipe } from './recipes.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */
/** @import { Copy } from './changed-copy.mjs' */
/** @import { Recipe } from './recipes.mjs' */

const thisFile = fileURLToPath(import.meta.url);
/** The end of a message about a build that was cut. */
const goesOn = 'the next build goes on where this one stopped';

/** The exit status for `CannotBuild`. */
export const statusCannotBuild = 3;

/**
 * This machine cannot build the programs, and the project is not to blame: it has no Go that is new enough, or no way
 * to the modules.
 */
export class CannotBuild extends Error {}

/**
 * The folder of a module's finished programs; it may not exist yet. Another version, or another recipe, has another
 * folder.
 * @param {Recipe} recipe
 * @param {NodeJS.ProcessEnv} env
 */
const dirOf = ({ name, key }, env) => join(cacheDir(env), `go-${name}-${key}`);

/**
 * The environment of go, without the workspace and the flags of the caller.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
const goEnv = (env) => ({ ...env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' });

/**
 * Checks that there is a Go that can build the module.
 * @param {Recipe} recipe
 * @param {NodeJS.ProcessEnv} env
 * @throws {CannotBuild}
 */
function requireGo({ name, dir }, env) {
  // It needs no network, but fails when this Go is older than go.mod asks for and can't fetch a newer one.
  const go = spawnSync('go', ['list', '-m'], { cwd: dir, env: goEnv(env), encoding: 'utf8' });
  if (go.status === 0) return;
  const why = codeOf(go.error) === 'ENOENT' ? 'there is no go command' : lastLine(go.stderr) || go.error?.message;
  throw new CannotBuild(`building ${name} needs Go: ${why}`);
}

/**
 * Fetches the modules that the programs are made of.
 * @param {Recipe} recipe
 * @throws {CannotBuild} when they can't be had; another error when they are not those that go.sum pins
 */
async function fetchModules({ name, dir, packages, testPackages }) {
  const lists = [Object.values(packages), Object.values(testPackages).flatMap((path) => ['-test', path])];
  for (const list of lists.filter(({ length }) => length > 0)) {
    const what = `the Go modules of ${name}`;
    const go = await runWithProgress('go', ['list', '-deps', '-f', '', ...list], {
      what,
      remedy: goesOn,
      cwd: dir,
      env: goEnv(process.env),
    });
    if (go.status === 0) continue;
    if (/checksum mismatch|SECURITY ERROR/.test(go.stderr)) throw new Error(`${name} can't be built: ${go.stderr}`);
    throw new CannotBuild(`${what} can't be fetched: ${lastLine(go.stderr)}`);
  }
}

/** @param {string | null} text null when the program could not be started */
const lastLine = (text) => (text ?? '').trim().split('\n').at(-1);

/**
 * Gives the folder with a module's programs, building them when the cache has none. Progress goes to standard error.
 * While another process builds, it waits for that one. After a build that was cut, Go's own caches (GOMODCACHE and
 * GOCACHE, by default below the home folder) have what was fetched and compiled by then. Nothing ends a build that
 * makes progress.
 * @param {string} name
 * @param {EnsureOptions} options
 * @returns {{ dir: string, versions: Record<string, string> }} versions: by program
 * @throws {CannotBuild} on a machine that cannot build them
 * @throws {Error} with the reason for the operator when they can't be had for another reason
 */
export function ensureGoPrograms(name, { env = process.env, log = () => {} } = {}) {
  const recipe = readRecipe(name);
  const dir = dirOf(recipe, env);
  const versions = Object.fromEntries(listPrograms(recipe).map((program) => [program, recipe.version]));
  if (existsSync(dir)) return { dir, versions };
  requireGo(recipe, env);
  log(`building ${name} ${recipe.version} from its Go modules: about ${recipe.takes}, once; less if a build was cut`);
  const done = spawnSync(process.execPath, [thisFile, '--one', name], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (done.status === 0) return { dir, versions };
  const why = lastLine(done.stdout) || `${name} can't be built: ended from outside by ${done.signal}; ${goesOn}`;
  throw done.status === statusCannotBuild ? new CannotBuild(why) : new Error(why);
}

/**
 * Begins to fetch the modules of these names, one after the other, in a process that nobody waits for: it takes the
 * network while `ensureGoPrograms` takes the CPUs for another name. What it can't fetch, `ensureGoPrograms` tells.
 * @param {readonly string[]} names
 * @param {NodeJS.ProcessEnv} env
 * @returns {void}
 */
export function beginFetching(names, env = process.env) {
  const lacking = names.filter((name) => !existsSync(dirOf(readRecipe(name), env)));
  if (lacking.length === 0) return;
  const fetching = spawn(process.execPath, [thisFile, '--fetch', ...lacking], { env, stdio: 'ignore' });
  fetching.on('error', () => {});
  fetching.unref();
}

/** @param {Recipe} recipe */
const listPrograms = ({ packages, cPrograms, copies, testPackages }) =>
  [packages, cPrograms, copies, testPackages].flatMap(Object.keys);

/**
 * The build itself.
 * @param {Recipe} recipe
 */
async function build(recipe) {
  await buildOnceAsync(dirOf(recipe, process.env), async (building) => {
    mkdirSync(building);
    await fetchModules(recipe);
    await compileGo(recipe, building);
    for (const [program, sources] of Object.entries(recipe.cPrograms))
      await compileC(recipe, sources, join(building, program));
    const lacking = listPrograms(recipe).filter((program) => !existsSync(join(building, program)));
    if (lacking.length > 0) throw new Error(`the build made no ${lacking.join(', no ')}`);
  });
}

/** @param {Recipe} recipe @param {string} target a folder */
async function compileGo(recipe, target) {
  const { packages, testPackages } = recipe;
  const built = Object.entries(packages);
  if (built.length > 0) await runGo(recipe, ['build', '-v'], ['-o', `${target}/`, ...Object.values(packages)]);
  for (const [program, path] of built) {
    const made = join(target, basename(path));
    if (existsSync(made)) renameSync(made, join(target, program));
  }
  for (const [program, copy] of Object.entries(recipe.copies)) await compileCopy(recipe, program, copy, target);
  for (const [program, path] of Object.entries(testPackages))
    await runGo(recipe, ['test', '-c', '-v'], ['-o', join(target, program), path]);
}

/** @param {Recipe} recipe @param {string} name @param {Copy} copy @param {string} target a folder */
async function compileCopy(recipe, name, copy, target) {
  const { dir } = recipe;
  const packageDir = askGo(dir, ['list', '-f', '{{.Dir}}', copy.package]);
  const folder = join(target, 'copies');
  const overlay = writeChangedCopy({ dir, name, copy, packageDir, folder });
  await runGo(recipe, ['build', '-v', '-overlay', overlay], ['-o', join(target, name), `./${name}`]);
  rmSync(folder, { recursive: true });
}

/** @param {string} cwd @param {string[]} args @returns {string} the output of go */
const askGo = (cwd, args) => spawnSync('go', args, { cwd, env: goEnv(process.env), encoding: 'utf8' }).stdout.trim();

/** @param {Recipe} recipe @param {string[]} command @param {string[]} args what follows the recipe's flags */
async function runGo({ name, dir, flags }, command, args) {
  let compiled = 0;
  let complaint = '';
  const { status } = await runWithProgress('go', [...command, ...flags, ...args], {
    what: name,
    remedy: goesOn,
    cwd: dir,
    env: goEnv(process.env),
    onLine(line) {
      if (/^\S+$/.test(line)) compiled += 1;
      else complaint = line;
    },
    describe: () => `${compiled} packages compiled`,
  });
  if (status !== 0) throw new Error(`${name} can't be built: ${complaint || `go ended with ${status}`}`);
}

/**
 * Compiles a program in C of the module, statically: it then runs in any root folder.
 * @param {Recipe} recipe
 * @param {string} sources
 * @param {string} target
 */
async function compileC({ name, dir, module }, sources, target) {
  if (!hasCommand('cc')) installPackages(['gcc', 'libc6-dev'], logToStderr);
  const folder = askGo(dir, ['list', '-m', '-f', '{{.Dir}}', module]);
  const cwd = join(folder, sources);
  const files = readdirSync(cwd).filter((file) => file.endsWith('.c'));
  const what = `${basename(target)} of ${name}`;
  const cc = await runWithProgress('cc', ['-std=c99', '-O2', '-static', '-s', '-o', target, ...files], { what, cwd });
  if (cc.status !== 0) throw new Error(`${what} can't be built: ${lastLine(cc.stderr)}`);
}

/** @param {string[]} names */
function ensureAll(names) {
  if (names.length === 0) throw new Error(`name one of ${moduleNames.join(', ')}, or --all`);
  beginFetching(names.slice(1).filter((name) => moduleNames.includes(name)));
  for (const name of names) {
    const { dir, versions } = ensureGoPrograms(name, { log: logToStderr });
    console.log(
      `${Object.entries(versions)
        .map((entry) => entry.join(' '))
        .join(', ')}: ${dir}`,
    );
  }
}

if (isMain(import.meta.url)) {
  const [first, ...names] = process.argv.slice(2);
  const isSingle = first === '--one';
  try {
    if (isSingle) await build(readRecipe(names[0] ?? ''));
    else if (first === '--fetch') for (const name of names) await fetchModules(readRecipe(name));
    else ensureAll(first === '--all' ? moduleNames : process.argv.slice(2));
  } catch (error) {
    process.stdout.on('error', () => {});
    if (isSingle) console.log(messageOf(error)); // for ensureGoPrograms: standard error has the progress
    if (!isSingle || error instanceof EndedFromOutside) console.error(messageOf(error)); // it may be gone then
    process.exitCode = error instanceof CannotBuild ? statusCannotBuild : 1;
  }
}

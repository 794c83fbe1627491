// npm run install:check: runs the README's own install commands, word for word, in a copy of the tracked files, with
// npm 10 and npm 11; then the build stage of the Dockerfile, as far as that goes without docker, with the npm of its
// image. The first command that fails ends it with status 1.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from './shared/errors.mjs';
import { runWithProgress } from './shared/run-with-progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'cpusetd-install-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// npm keeps what it has fetched. The first installation asks the registry for everything, the others only for what that
// has not brought.
const others = { npm_config_prefer_offline: 'true' };
try {
  await checkReadme(10);
  await npm(11); // for both
  const ends = await Promise.allSettled([checkReadme(11, others), checkDockerfile(11, others)]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  console.error('install:check: the README installs with npm 10 and npm 11, and the Dockerfile with npm 11');
} catch (error) {
  console.error(`install:check: ${messageOf(error)}`);
  process.exitCode = 1;
}

/**
 * Runs the commands of "Use it", with a stand-in for `sudo` that installs below a folder of ours.
 * @param {number} major of npm
 * @param {NodeJS.ProcessEnv} [variables]
 */
async function checkReadme(major, variables) {
  const folder = copyTracked(`readme-${major}`, tracked);
  const stage = join(scratch, `stage-${major}`);
  for (const place of ['usr/local/bin', 'etc/systemd/system']) mkdirSync(join(stage, place), { recursive: true });
  // The commands' own form: install [-D] -m MODE FILE PLACE; systemctl ... [UNIT]; cpusetd COMMAND.
  const sudo = `#!/bin/sh -e
case "$1 $2" in
  'install -m') test $# -eq 5; exec install -m "$3" "$4" "${stage}$5" ;;
  'install -D') test $# -eq 6; exec install -D -m "$4" "$5" "${stage}$6" ;;
  'systemctl daemon-reload') ;;
  'systemctl enable') for unit; do :; done; exec test -f "${stage}/etc/systemd/system/$unit.service" ;;
  # It says what this machine lacks, so the answer may be 1. Wrong usage would be 2.
  'cpusetd check') shift; status=0
    # Variables of the test run that begin with CPUSETD_ are no options.
    env -i "PATH=$PATH" "CPUSETD_CONFIG=${stage}/etc/cpusetd.yaml" ${stage}/usr/local/bin/cpusetd "$@" || status=$?
    exec test $status -le 1 ;;
  # Nothing serves here, so the answer is 1. Wrong usage would be 2.
  'cpusetd health') shift; status=0
    CPUSETD_ADMIN_SOCKET=${stage}/none ${stage}/usr/local/bin/cpusetd "$@" || status=$?
    exec test $status -eq 1 ;;
  *) echo "install:check does not know how to play: sudo $*" >&2; exit 1 ;;
esac
`;
  const paths = [playing(`sudo-${major}`, { sudo }), await npm(major)];
  await run(`the README, npm ${major}`, readmeCommands(), folder, { paths, variables });

  const program = join(stage, 'usr/local/bin/cpusetd');
  const said = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  if (said !== version) fail(`the installed program says it is version ${said}, package.json says ${version}`);
  const mode = statSync(program).mode & 0o777;
  if (mode !== 0o755) fail(`the installed program has mode ${mode.toString(8)}`);
  const unit = readFileSync(join(stage, 'etc/systemd/system/cpusetd.service'), 'utf8');
  const [, ...named] = /^ExecStart=(\S+) .*--config (\S+)/m.exec(unit) ?? [];
  if (named.length === 0) fail('deploy/cpusetd.service starts no program with --config');
  for (const path of named)
    if (!existsSync(join(stage, path))) fail(`the unit names ${path}, which the README's commands don't install`);
}

/** The first code block below "## Use it" whose lines are commands. */
function readmeCommands() {
  const section = readFileSync(join(root, 'README.md'), 'utf8').split('\n## Use it\n')[1]?.split('\n## ')[0] ?? '';
  const block = /(?:^ {7}\S.*\n)+/m.exec(section)?.[0];
  if (!block?.includes('npm ci')) return fail('README.md has no block of commands with npm ci below "## Use it"');
  return block.replaceAll(/^ {7}/gm, '').trimEnd().split('\n');
}

/**
 * Runs the COPY and RUN lines up to the second FROM, and checks the files that the second stage takes from the first.
 * @param {number} major of npm
 * @param {NodeJS.ProcessEnv} [variables]
 */
async function checkDockerfile(major, variables) {
  const paths = [await npm(major)];
  const instructions = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line))
    .map((line) => line.split(/\s+/));
  const second = instructions.findIndex(([word], i) => word === 'FROM' && i > 0);
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const context = copyTracked(
    `context-${major}`,
    tracked.filter((file) => !ignored.some((folder) => `${file}/`.startsWith(`${folder}/`))),
  );
  const image = join(scratch, `image-${major}`);
  let folder = image;
  mkdirSync(folder);
  for (const [word, ...rest] of instructions.slice(0, second)) {
    if (word === 'WORKDIR') mkdirSync((folder = join(image, rest[0] ?? '')), { recursive: true });
    else if (word === 'COPY') {
      const into = resolve(folder, rest.at(-1) ?? '');
      for (const from of rest.slice(0, -1))
        cpSync(join(context, from), from === '.' ? into : join(into, from), { recursive: true });
    } else if (word === 'RUN')
      await run(`the Dockerfile, npm ${major}`, [rest.join(' ')], folder, { paths, variables });
    else if (word !== 'FROM') fail(`Dockerfile: install:check does not know how to do ${word} in the build stage`);
  }
  for (const [word, from, ...paths] of instructions.slice(second)) {
    if (word !== 'COPY' || from !== '--from=build') continue;
    for (const path of paths.slice(0, -1))
      if (path !== '/usr/local/bin/node' && !existsSync(join(image, path)))
        fail(`Dockerfile: the build stage leaves no ${path}`);
  }
}

/** @param {string} name @param {string[]} files */
function copyTracked(name, files) {
  for (const file of files) cpSync(join(root, file), join(scratch, name, file));
  return join(scratch, name);
}

/**
 * A folder for PATH in which `npm` is this major version.
 * @param {number} major
 */
async function npm(major) {
  const prefix = join(scratch, `npm-${major}`);
  if (!existsSync(prefix)) {
    mkdirSync(prefix);
    const install = `npm install --no-audit --no-fund --loglevel=error --prefix ${prefix} npm@${major}`;
    await run(`npm ${major}`, [install], scratch, { paths: [] });
  }
  return join(prefix, 'node_modules/.bin');
}

/**
 * A folder for PATH with these scripts.
 * @param {string} name
 * @param {Record<string, string>} scripts
 */
function playing(name, scripts) {
  const folder = join(scratch, name);
  mkdirSync(folder);
  for (const [script, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, script), text);
    chmodSync(join(folder, script), 0o755);
  }
  return folder;
}

/**
 * Runs one line after the other up to the first that fails, without the variables that an npm around us left in the
 * environment.
 * @param {string} what
 * @param {string[]} lines
 * @param {string} cwd
 * @param {object} options
 * @param {string[]} options.paths first in PATH
 * @param {NodeJS.ProcessEnv | undefined} [options.variables] further variables
 */
async function run(what, lines, cwd, { paths, variables }) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_registry$)/i.test(name) && name !== 'INIT_CWD',
  );
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...Object.fromEntries(inherited), ...variables };
  const own = (env.PATH ?? '').split(':').filter((path) => !path.includes('node_modules'));
  env.PATH = [...paths, ...own].join(':');
  for (const line of lines) {
    if (stop.signal.aborted) fail('interrupted');
    console.error(`install:check: ${what}: ${line}`);
    const ended = await runWithProgress('sh', ['-c', line], { what: `install:check: ${what}`, cwd, env });
    const { status, stdout, stderr } = ended;
    if (status !== 0) fail(`${what}: this failed with status ${status}: ${line}\n${stdout}${stderr}`);
  }
}

/**
 * Ends the check.
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message);
}

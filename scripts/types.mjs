// npm run types: checks the types of the whole project. What TypeScript knows of unchanged files is kept in
// node_modules/.cache.
//
//   npm run types [-- --watch]
//
// With --watch it goes on: after a change it checks the changed files and those that import them, but not those behind
// these. The files of the page and scripts in JavaScript are left out.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMain } from './shared/is-main.mjs';
import { runChild } from './shared/run-child.mjs';

/** The projects of TypeScript, and the files that each has. */
const projects = [
  { name: 'types', path: 'tsconfig.json', has: /\.ts$/ },
  { name: 'types of scripts', path: 'tsconfig.scripts.json', has: /\.[cm]?js$/ },
  { name: 'types of the page', path: 'src/admin/page/client', has: /^src\/admin\/page\/client\// },
  { name: 'types of the tests of the page', path: 'test/browser', has: /^(test\/browser|src\/admin\/page\/client)\// },
];

/**
 * The commands that check the types of files.
 * @param {string} root the project's folder
 * @param {readonly string[]} [files] only the projects that have one of them; all when absent
 * @returns {{ name: string, command: [string, ...string[]] }[]}
 */
export function listTypeCommands(root, files) {
  const wanted = projects.filter(({ has }) => files === undefined || files.some((file) => has.test(file)));
  return wanted.map(({ name, path }) => {
    const info = `node_modules/.cache/types/${name.replaceAll(' ', '-')}.json`;
    const flags = ['--noEmit', '--incremental', '--tsBuildInfoFile', info, '-p', path];
    return { name, command: [join(root, 'node_modules/.bin/tsc'), ...flags] };
  });
}

if (isMain(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } });
  for (const { command } of values.watch ? [watchCommand(root)] : listTypeCommands(root)) {
    const [program, ...args] = command;
    const { status, signal } = await runChild(program, args, { cwd: root });
    if (status !== 0) process.exitCode = status ?? 1;
    if (signal !== null) break; // Ctrl-C is for all of them
  }
}

/**
 * The command that checks after each change. It keeps what it knows in a file of its own, since it knows less of the
 * files behind a change.
 * @param {string} root the project's folder
 * @returns {{ command: [string, ...string[]] }}
 */
function watchCommand(root) {
  const info = 'node_modules/.cache/types/watch.json';
  const flags = ['--watch', '--preserveWatchOutput', '--assumeChangesOnlyAffectDirectDependencies'];
  const tsc = join(root, 'node_modules/.bin/tsc');
  return { command: [tsc, '--noEmit', '--incremental', '--tsBuildInfoFile', info, ...flags] };
}

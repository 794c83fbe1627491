import { CommanderError, type Command } from 'commander';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createPlugin } from '../../src/kubectl/program';
import { createIdleProgram } from '../support/idle-program';
import { NOT_RUN, ROWS } from './command-rows';
import type { PageCommand } from './commands';
import { ROOT } from './markdown';

// The checks of the commands on pages: by the parser of the program, by the files that are named, or by a row of
// command-rows.ts.

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

type Check = (words: readonly string[], command: PageCommand) => string | undefined | Promise<string | undefined>;

/** By the first words of a command; the first that fits counts. */
const RULES: readonly (readonly [begin: RegExp, check: Check])[] = [
  [/^cpusetd( |$)/, (words, { isComplete }) => checkParsed(createIdleProgram(), words.slice(1), isComplete)],
  [/^kubectl cpuset( |$)/, (words, { isComplete }) => checkParsed(createIdlePlugin(), words.slice(2), isComplete)],
  [/^kubectl apply /, checkApplied],
  [/^npm (ci|test)$/, () => undefined],
  [/^npm run( |$)/, checkNpmScript],
  [/^npx jest /, (words) => checkJest(words.slice(2))],
  [/^node \S+\.mjs( |$)/, ([, script, ...args]) => checkScript(script!, args)],
  [/^node dist\/cpusetd\.js /, (words, { isComplete }) => checkParsed(createIdleProgram(), words.slice(2), isComplete)],
  [/^node --inspect-brk node_modules\/jest\/bin\/jest\.js /, (words) => checkJest(words.slice(3))],
];
/** Besides a row. */
const MORE_RULES: readonly (readonly [begin: RegExp, check: Check])[] = [
  [/^systemctl (?!daemon-reload)/, checkUnits],
  [/^grpcurl /, checkMethod],
  [/^kubectl .*(--overrides=|--patch )/, checkPatch],
];

const PROGRAMS = new Set(
  [...RULES.map(([begin]) => begin), ...[...ROWS, ...NOT_RUN].map(({ command }) => command)].map(
    ({ source }) => /^\^([\w-]+)/.exec(source)![1]!,
  ),
);

/** True for words in a sentence that are a command: those of a program that the rules and rows have, with arguments. */
export function isCommand([program = '', ...args]: readonly string[]): boolean {
  if (program === 'node') return /\.m?js$/.test(args[0] ?? '');
  return args.length > 0 && PROGRAMS.has(program);
}

/** Tells the fault of a command with the place, the rule and the remedy; undefined when there is none. */
export async function findFault(command: PageCommand): Promise<string | undefined> {
  const text = command.words.join(' ');
  const where = `${command.page}:${command.line}: \`${text}\`: `;
  const variable = command.variables.find((name) => name.startsWith('CPUSETD_') && !listVariables().has(name));
  if (variable !== undefined) return `${where}no file of scripts/ and test/ reads ${variable}; correct the page`;
  const [, check] = RULES.find(([begin]) => begin.test(text)) ?? [];
  const fault = check ? await check(filled(command.words), command) : await checkRow(text, command);
  return fault === undefined ? undefined : where + fault;
}

async function checkRow(text: string, command: PageCommand): Promise<string | undefined> {
  const rows = [...ROWS, ...NOT_RUN].filter((row) => row.command.test(text));
  if (rows.length === 0)
    return 'no test is known that runs it; let one run it and add a row to ROWS in test/docs/command-rows.ts, or, if it is no command, fence the block';
  if (rows.length > 1)
    return `several rows of test/docs/command-rows.ts fit: ${rows.map((row) => row.command).join(', ')}`;
  const [, check] = MORE_RULES.find(([begin]) => begin.test(text)) ?? [];
  return check?.(filled(command.words), command);
}

/** The words with values in the places of names that stand for any: `N`, `[--seed S]`, `<name>`, `...`. */
function filled(words: readonly string[]): string[] {
  const values: Readonly<Record<string, string>> = { N: '4', S: '1', SHELL: 'bash', COMMAND: 'nodes' };
  return words
    .filter((word) => !/^(?:\.\.\.|…)$/.test(word))
    .map((word) => word.replace(/^\[(.*?)\]?$/, '$1').replace(/^(.*[^[].*)\]$/, '$1'))
    .map((word) => values[word] ?? word.replaceAll(/<([\w-]+)>/g, '$1'));
}

/** Parses by the definition of the commands. Nothing is run; of the daemon the values of its options are read. */
async function checkParsed(
  program: Command,
  args: readonly string[],
  isComplete: boolean,
): Promise<string | undefined> {
  const disarm = (command: Command): void => {
    if (command.commands.length === 0 && command.name() !== 'run') command.action(() => undefined);
    command.commands.forEach(disarm);
  };
  disarm(program);
  const isRun = args[0] === 'run' && !args.includes('--reserved-cpus');
  try {
    await program.parseAsync([...args, ...(isRun ? ['--reserved-cpus', '0'] : [])], { from: 'user' });
    return undefined;
  } catch (error) {
    if ((error as Error).message === 'no daemon here') return undefined;
    const asked = ['commander.version', 'commander.helpDisplayed'];
    const short = [
      'commander.help',
      'commander.missingArgument',
      'commander.optionMissingArgument',
      'commander.missingMandatoryOptionValue',
    ];
    if (error instanceof CommanderError && [...asked, ...(isComplete ? [] : short)].includes(error.code))
      return undefined;
    return `the parser of the program says: ${(error as Error).message.replace(/^error: /, '')}; correct the page`;
  }
}

function createIdlePlugin(): Command {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  return createPlugin({ stdout, stderr, env: {}, signal, version: '0.0.0' }, () => undefined);
}

function checkNpmScript([, , ...words]: readonly string[]): string | undefined {
  const [name, ...rest] = words[0] === '--silent' ? words.slice(1) : words;
  if (name === undefined) return undefined;
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  const script = scripts[name];
  if (script === undefined) return 'package.json has no such script; correct the page';
  if (rest.length > 0 && rest[0] !== '--') return 'npm takes arguments of a script only after `--`; correct the page';
  const [, file] = /^node (\S+)(?: --\w+)?$/.exec(script) ?? [];
  return file === undefined ? checkJest(rest.slice(1)) : checkScript(file, rest.slice(1));
}

/**
 * The script is there, and its text or that of what it starts has the options; other arguments of a bench and of jest
 * are files.
 */
function checkScript(script: string, args: readonly string[]): string | undefined {
  if (!existsSync(join(ROOT, script))) return `there is no ${script}; correct the page`;
  const isBench = script === 'bench/run.mjs';
  if (isBench && args[0] !== 'NAME' && args[0] !== undefined && !existsSync(join(ROOT, `bench/${args[0]}.ts`)))
    return `there is no bench/${args[0]}.ts; correct the page`;
  const text = sourcesOf(script, isBench ? args[0] : undefined)
    .map(read)
    .join('\n');
  // The words after `--` go on to the daemon.
  const end = args.indexOf('--');
  const unknown = (end < 0 ? args : args.slice(0, end)).filter((arg) => {
    const [flag] = arg.split('=');
    if (!flag!.startsWith('--')) return /^test\//.test(arg) && !isTestPath(arg);
    const name = flag!.slice(2);
    return !new RegExp(`'${flag}'|(?:\\b|')${name}'?: \\{ type: '`).test(text);
  });
  return unknown.length === 0 ? undefined : `${script} does not know ${unknown.join(' ')}; correct the page`;
}

/** The script, and the parts that take its arguments. */
function sourcesOf(script: string, bench?: string): string[] {
  if (bench !== undefined && bench !== 'NAME') {
    const below = existsSync(join(ROOT, 'bench', bench)) ? readdirSync(join(ROOT, 'bench', bench)) : [];
    return [`bench/${bench}.ts`, ...below.map((name) => `bench/${bench}/${name}`)];
  }
  const text = read(script);
  const entries = [...text.matchAll(/entry: '((?:test|scripts)\/[^']+)'/g)].map(([, entry]) => entry!);
  const beside = [...text.matchAll(/ from '\.\/([\w-]+\.mjs)'/g)].map(([, name]) => join(dirname(script), name!));
  return [script, ...entries, ...beside];
}

function checkJest(args: readonly string[]): string | undefined {
  const known = read('node_modules/@jest/types/build/index.d.ts');
  const projects = [...read('jest.config.js').matchAll(/displayName: '(\w+)'/g)].map(([, name]) => name!);
  for (const [i, arg] of args.entries()) {
    if (arg.startsWith('--')) {
      const name = arg.slice(2).replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase());
      if (!new RegExp(`\\b${name}\\??: `).test(known)) return `jest has no option ${arg}; correct the page`;
    } else if (args[i - 1] === '--selectProjects' && !projects.includes(arg))
      return `jest.config.js has no project ${arg}`;
    else if (args[i - 1] === '--testPathPatterns' && !TESTS.some((path) => path.includes(arg)))
      return `no test has ${arg} in its path; correct the page`;
  }
  return undefined;
}

const TESTS = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map((name) => `test/${name}`);
const isTestPath = (start: string): boolean => TESTS.some((path) => path.startsWith(start));
/** The texts of the end-to-end tests that apply something. */
const APPLYING = TESTS.filter((path) => /^test\/(?:e2e|cluster)\/.*\.ts$/.test(path))
  .map(read)
  .filter((text) => text.includes("'apply'"));

/** The variables that scripts and tests read. */
function listVariables(): Set<string> {
  const files = ['scripts', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  const sources = files.filter((path) => /(?<!\.test)\.(?:mjs|ts)$/.test(path) && !path.startsWith('test/docs/'));
  return new Set(sources.flatMap((path) => read(path).match(/CPUSETD_[A-Z_]+/g) ?? []));
}

/** The files are there, and a test with an API server applies each. */
function checkApplied(words: readonly string[]): string | undefined {
  const named = words.flatMap((word, i) =>
    /^-[fk]$/.test(words[i - 1]!) ? [{ flag: words[i - 1]!, path: word }] : [],
  );
  if (named.length === 0) return 'it applies nothing; give -k or -f with a path of deploy/';
  for (const { flag, path } of named) {
    if (!existsSync(join(ROOT, path, flag === '-k' ? 'kustomization.yaml' : '')))
      return `there is no ${path}${flag === '-k' ? '/kustomization.yaml' : ''}; correct the page`;
    if (!isApplied(flag, path)) return `no test with an API server applies ${path}; add it to test/e2e/deploy.test.ts`;
  }
  return undefined;
}

/**
 * True when a file with `'apply'` names the path below deploy/, the folder that a file is in beside `'-f'`, or the
 * overlay.
 */
function isApplied(flag: string, path: string): boolean {
  const below = path.replace(/^deploy\//, '');
  const overlay = below.split('/')[1]!;
  const named = new RegExp(
    flag === '-f'
      ? `'(?:deploy/)?${below}'|'${dirname(below)}'.*'-f'`
      : below.startsWith('overlays/')
        ? `^ {2}'?${overlay}'?: |applyTwice\\('${overlay}'`
        : `'-k'.*'${below}'`,
    'm',
  );
  return APPLYING.some((text) => named.test(text));
}

/** The units are those of deploy/ or of the machine, and have what the verb needs. */
function checkUnits(words: readonly string[]): string | undefined {
  const [, verb, ...rest] = words;
  const ofMachine = ['kubelet', 'system.slice'];
  for (const name of rest.filter((word) => !word.startsWith('-') && !word.includes('=') && !ofMachine.includes(word))) {
    const path = `deploy/${name.includes('.') ? name : `${name}.service`}`;
    if (!existsSync(join(ROOT, path))) return `there is no ${path}; correct the page`;
    const needed = { enable: '[Install]', disable: '[Install]', reload: 'ExecReload=' }[verb!];
    if (needed !== undefined && !read(path).includes(`\n${needed}`)) return `${path} has no ${needed}`;
  }
  return undefined;
}

/** The patch is JSON. */
function checkPatch(words: readonly string[]): string | undefined {
  const patch = words.find((word, i) => word.startsWith('--overrides=') || words[i - 1] === '--patch')!;
  try {
    JSON.parse(patch.replace('--overrides=', ''));
    return undefined;
  } catch (error) {
    return `${String(error)}; correct the page`;
  }
}

/** The method is in proto/, and so are the fields of what is sent. */
function checkMethod(words: readonly string[]): string | undefined {
  const [, service = '', method = ''] = /^cpusetd\.v1\.(\w+)\/(\w+)$/.exec(words.at(-1)!) ?? [];
  const proto = readdirSync(join(ROOT, 'proto/cpusetd/v1'))
    .map((name) => read(`proto/cpusetd/v1/${name}`))
    .join('\n');
  const [, body = ''] = new RegExp(`^service ${service} {([^]*?)^}`, 'm').exec(proto) ?? [];
  const [, request] = new RegExp(`rpc ${method}\\((\\w+)\\)`).exec(body) ?? [];
  if (request === undefined) return `proto/ has no method ${words.at(-1)!}; correct the page`;
  const [, message = ''] = new RegExp(`^message ${request} {([^]*?)}`, 'm').exec(proto) ?? [];
  const sent = words.includes('-d') ? Object.keys(JSON.parse(words[words.indexOf('-d') + 1]!) as object) : [];
  const unknown = sent.filter((field) => !new RegExp(`\\b${field} = \\d+`).test(message));
  return unknown.length === 0 ? undefined : `${request} has no field ${unknown.join(', ')}; correct the page`;
}

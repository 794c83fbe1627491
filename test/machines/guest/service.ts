import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { replaceIn } from './replace-in';
import { systemctl } from './systemd';

const run = promisify(execFile);

// cpusetd as a service of the machine, installed by hand as the pages of docs/ say.

export const program = '/usr/local/bin/cpusetd';
export const optionsFile = '/etc/cpusetd.yaml';
/** A cpusetd with the default of the admin socket. */
export const service = { adminSocket: '/run/cpusetd/cpusetd.sock' };

/**
 * Installs the program and the example of all options with CPU 0 reserved.
 * @param handedIn the places of further files, by their names in `/in`
 * @param texts further files of the test, by their places
 * @param options lines that the options end with
 */
export async function installService(
  handedIn: Readonly<Record<string, string>>,
  texts: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
): Promise<void> {
  for (const [name, path] of Object.entries({ 'cpusetd.js': program, ...handedIn })) {
    mkdirSync(dirname(path), { recursive: true });
    copyFileSync(`/in/${name}`, path);
  }
  await run('chmod', ['755', program]);
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const example = readFileSync('/in/cpusetd.yaml', 'utf8');
  const yaml = replaceIn(example, /^reserved-cpus: .*$/m, "reserved-cpus: '0'");
  writeFileSync(optionsFile, `${[yaml, ...options].join('\n')}\n`);
  await systemctl('daemon-reload');
}

/** Removes program, options, state and these files. Its units have stopped before. */
export async function uninstallService(paths: readonly string[]): Promise<void> {
  for (const path of [program, optionsFile, '/var/lib/cpusetd', ...paths])
    rmSync(path, { force: true, recursive: true });
  await systemctl('daemon-reload');
}

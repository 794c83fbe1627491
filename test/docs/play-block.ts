import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitScript } from './commands';

export interface Play {
  /** The machine on which the commands run. */
  readonly cwd: string;
  /** The folder that is their `/etc`, `/usr` and `/var`. */
  readonly stage: string;
  /** Other stand-ins for programs: the text of shell scripts by name. */
  readonly programs?: Readonly<Record<string, string>>;
}

const systemctl = ['/usr/bin/systemctl', '/bin/systemctl'].find((path) => existsSync(path));
/** The reason why units are not enabled on the stage; undefined when they are. */
export const missingSystemctl = systemctl === undefined ? 'systemctl is needed' : undefined;

/** The programs that run as they are. They change nothing but files. */
const REAL = ['cd', 'cp', 'install', 'ln', 'openssl', 'rm', 'sha256sum', 'tar'];
const STAGED = /(?<=\s)\/(?:etc|usr|var)\//g;
const OTHER_FOLDERS = /(?<![\w.-])\/(?:boot|etc|home|lib|opt|proc|root|run|srv|sys|usr|var)\b/;

/** The calls of stand-ins, each in a line. */
export type Calls = readonly string[];

/**
 * Runs a block of a page up to the first command that fails. Absolute paths are below the stage. The programs are real
 * but for those that need a running system: `npm` and `cpusetd` are not run; `systemctl` enables and disables units on
 * the stage, and does nothing else.
 * @throws when a command fails; before anything runs, when the block has another program, or a path that is not moved
 * to the stage
 */
export function playBlock(script: string, { cwd, stage, programs = {} }: Play): Calls {
  const folder = mkdtempSync(join(stage, '.play-'));
  const calls = join(folder, 'calls');
  const note = (name: string): string => `echo "${name} $*" >> '${calls}'`;
  const enable = `${systemctl ?? ':'} --root='${stage}' --quiet $(echo "$@" | sed s/--now//)`;
  const standIns = {
    sudo: 'exec "$@"',
    npm: note('npm'),
    cpusetd: note('cpusetd'),
    systemctl: `${note('systemctl')}\ncase $1 in enable|disable) ${enable} ;; esac`,
    ...programs,
  };
  const unknown = splitScript(script).find(({ words: [name = ''] }) => !REAL.includes(name) && !(name in standIns));
  if (unknown !== undefined) throw new Error(`${unknown.words[0]} has no stand-in in playBlock:\n${script}`);
  const outside = OTHER_FOLDERS.exec(script.replaceAll(STAGED, ' '));
  if (outside !== null) throw new Error(`${outside[0]} would not be on the stage:\n${script}`);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, text] of Object.entries(standIns)) {
    writeFileSync(join(bin, name), `#!/bin/sh -e\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  for (const place of ['usr/local/bin', 'etc/systemd/system', 'var/lib/kubelet'])
    mkdirSync(join(stage, place), { recursive: true });
  const staged = script.replaceAll(STAGED, (path) => stage + path);
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
  const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', staged], { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`this ended with status ${status}:\n${staged}\n${stdout}${stderr}`);
  return existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
}

// A server as a child process that can be killed and started again. Its output goes to a file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * @typedef {object} Inside
 * @property {number} namespacePid a process in the mount namespace that the server enters
 * @property {NodeJS.ProcessEnv} env the environment instead of ours
 */

export class ServerProcess {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {readonly string[]} */
  #command;
  /** @type {string} */
  #work;
  /** @type {Inside | undefined} */
  #inside;
  /** @type {NodeJS.Timeout | undefined} */
  #restart;

  /**
   * The time after which it is started again when it ends by itself, as systemd does. Undefined: it is not. @type
   * {number | undefined}
   */
  restartAfterMs;

  /**
   * @param {string} program its path
   * @param {string[]} args
   * @param {string} work where it runs, and where its log is written: `<program>.log`
   * @param {Inside} [inside]
   */
  constructor(program, args, work, inside) {
    this.name = basename(program);
    this.logFile = join(work, `${this.name}.log`);
    const enter = inside === undefined ? [] : ['nsenter', `--mount=/proc/${inside.namespacePid}/ns/mnt`, '--'];
    // It ends with this process, also when that is killed.
    this.#command = ['setpriv', '--pdeathsig', 'KILL', ...enter, program, ...args];
    this.#work = work;
    this.#inside = inside;
  }

  /** True until the process has ended. */
  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** @returns {void} */
  start() {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    clearTimeout(this.#restart);
    const [command = '', ...args] = this.#command;
    const log = openSync(this.logFile, 'a');
    const child = spawn(command, args, {
      stdio: ['ignore', log, log],
      cwd: this.#work,
      detached: true, // Ctrl-C is for the script that started us, which then ends things in order
      ...(this.#inside && { env: this.#inside.env }),
    });
    closeSync(log);
    this.#child = child;
    child.once('error', () => {}); // it shows as not running
    child.once('exit', () => {
      if (this.restartAfterMs !== undefined) this.#restart = setTimeout(() => this.start(), this.restartAfterMs);
    });
  }

  /**
   * Ends it at once, as a crash would.
   * @returns {Promise<void>}
   */
  async kill() {
    if (this.isRunning && this.#child !== undefined) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await ended;
    }
    clearTimeout(this.#restart);
  }

  /** @returns {string} the last lines of its log */
  lastWords() {
    try {
      return readFileSync(this.logFile, 'utf8').trim().split('\n').slice(-3).join(' / ');
    } catch {
      return 'none';
    }
  }
}

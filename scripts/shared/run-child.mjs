// A program that has the terminal of this process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a program with the standard input and outputs of this process, and waits for its end. A signal that would end
 * this process ends the program instead; from a terminal, Ctrl-C reaches the program anyway.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd: string }} options
 * @returns {Promise<{ status: number | null, signal: NodeJS.Signals | null }>} the status it ended with, or the signal
 */
export async function runChild(program, args, { cwd }) {
  // The handlers are there before the program: a signal that comes while it starts reaches it too.
  /** @type {NodeJS.Signals[]} */
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const forward = names.map((name) => {
    const pass = () => {
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name);
    };
    process.on(name, pass);
    return () => process.off(name, pass);
  });
  const child = spawn(program, [...args], { stdio: 'inherit', cwd });
  try {
    const [status, signal] = await once(child, 'close');
    return { status, signal };
  } finally {
    for (const end of forward) end();
  }
}

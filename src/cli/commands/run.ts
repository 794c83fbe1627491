import type { Command } from 'commander';

import type { CliContext } from '../context';
import { addRunOptions, readRunOptions } from '../options/run-options';

/** `cpusetd run`: the daemon. Its options are the rows of the table in `app/config`. */
export function addRunCommand(program: Command, context: CliContext): void {
  const command = program.command('run').description('run the daemon; SIGTERM ends it in order');
  addRunOptions(command);
  command.action(async () => {
    const loaded = await readRunOptions(command, context);
    await context.runDaemon(loaded, context.signal);
  });
}

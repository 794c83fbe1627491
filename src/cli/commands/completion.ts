import { Argument, type Command } from 'commander';

import { write, type CliContext } from '../context';
import { describeCommand, type CommandNode } from '../help/command-tree';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `cpusetd completion` and `cpusetd man`: texts that are made of the definitions of all commands. */
export function addCompletionCommands(program: Command, { stdout, version }: CliContext): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { completeBash } = await import('../completion/bash');
      const { completeFish } = await import('../completion/fish');
      const { completeZsh } = await import('../completion/zsh');
      const scripts: Readonly<Record<typeof shell, (node: CommandNode) => string>> = {
        bash: completeBash,
        zsh: completeZsh,
        fish: completeFish,
      };
      await write(stdout, scripts[shell](describeCommand(program)));
    });

  program
    .command('man')
    .description('print the man page')
    .action(async () => {
      const { formatManPage } = await import('../help/man-page');
      await write(stdout, formatManPage(describeCommand(program), version));
    });
}

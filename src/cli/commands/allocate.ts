import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';

import { UsageError, write, type CliContext, type ExitStatus } from '../context';

interface AllocateOptions {
  readonly batch: string;
  readonly topologies: string;
}

/**
 * `cpusetd allocate`: what-if, without a daemon. JSON lines in, JSON lines out, one for one and in order; exit 1 when
 * a line could not be understood.
 */
export function addAllocateCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('allocate')
    .description('tell which CPUs would be given out, for machines and requests from files (JSON lines)')
    .requiredOption('--batch <file>', 'requests, one a line; - is standard input')
    .requiredOption('--topologies <file>', 'machines, one a line')
    .action(async ({ batch, topologies: path }: AllocateOptions) => {
      const { readTopologies } = await import('../batch/read-topologies');
      const { answerLine } = await import('../batch/answer-line');
      const topologies = readTopologies(path);

      let lineNumber = 0;
      for await (const line of readLines(batch, context)) {
        lineNumber += 1;
        if (line.trim() === '') continue;
        const { answered, answer } = answerLine(line, lineNumber, topologies);
        if (!answered) exit(1);
        await write(context.stdout, `${JSON.stringify(answer)}\n`);
      }
    });
}

async function* readLines(path: string, { stdin }: CliContext): AsyncGenerator<string> {
  const input = path === '-' ? stdin : createReadStream(path);
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } catch (error) {
    throw new UsageError(
      `--batch ${path}: can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}); check the path`,
    );
  }
}

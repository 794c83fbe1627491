import { createReadStream } from 'node:fs';
import type { Command } from 'commander';

import { escapeJson } from '../../core/show-text';
import { systemCodeOf } from '../../core/system-errors';
import { UsageError, write, type CliContext, type ExitStatus } from '../context';

interface AllocateOptions {
  readonly batch: string;
  readonly topologies?: string;
  readonly topology?: string;
  readonly options?: string;
  readonly reservedCpus?: string;
}

/**
 * `cpusetd allocate`: answers what-if requests without a daemon, one JSON line for each, in order; exit 1 when a line
 * can't be read.
 */
export function addAllocateCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('allocate')
    .description('show which CPUs would be given out, for machines and requests from files (JSON lines)')
    .requiredOption('--batch <file>', 'requests, one a line; - is standard input')
    .option('--topologies <file>', 'machines, one a line')
    .option(
      '--topology <file|live>',
      'the machine of lines that name none: a file with one machine, or this one, with the options of its cpusetd',
    )
    .option(
      '--options <k=v,...>',
      "options of the static policy, by the kubelet's names, where a line says nothing else",
    )
    .option('--reserved-cpus <cpus>', 'CPUs that are never given out')
    .action(async (given: AllocateOptions) => {
      const { batch } = given;
      const { readDefaults } = await import('../allocate/read-defaults');
      const { readOwnDefaults } = await import('../allocate/own-defaults');
      const { answerLine } = await import('../allocate/answer-line');
      const read = readDefaults(given);
      const defaults = given.topology === 'live' ? { ...read, ...(await readOwnDefaults(given, read, context)) } : read;

      let lineNumber = 0;
      const answer = (line: string): string => {
        lineNumber += 1;
        if (line.trim() === '') return '';
        const { answered, answer } = answerLine(line, lineNumber, defaults);
        if (!answered) exit(1);
        return `${escapeJson(JSON.stringify(answer))}\n`;
      };
      for await (const lines of readLines(batch, context)) {
        const answers = lines.map(answer).join('');
        if (answers !== '') await write(context.stdout, answers);
      }
    });
}

/** The lines of each piece of the input; they are answered before the next piece is read. */
async function* readLines(path: string, { stdin }: CliContext): AsyncGenerator<string[]> {
  const input = path === '-' ? stdin : createReadStream(path);
  input.setEncoding('utf8');
  let begun = '';
  try {
    for await (const piece of input as AsyncIterable<string>) {
      const [end, ...lines] = piece.split('\n');
      begun += end!;
      if (lines.length === 0) continue;
      lines.unshift(begun);
      begun = lines.pop()!;
      yield lines;
    }
  } catch (error) {
    throw new UsageError(`--batch ${path}: can't be read (${systemCodeOf(error) ?? 'unknown'}); check the path`);
  }
  yield [begun];
}

import { join } from 'node:path';
import { Option, type Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import type { ExplainQuery, Explanation } from '../../admin/model/explanation';
import { CpusetdError } from '../../core/errors';
import { JournalError, type JournalRecord } from '../../state/journal';
import { createAdminSocketOption, createStateDirOption } from '../options/node-options';
import { complain, write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { parseTarget } from '../explain/parse-target';

interface ExplainOptions {
  readonly cpus?: string;
  readonly output: 'table' | DataFormat;
  readonly adminSocket: string;
  readonly stateDir: string;
}

/** The answer of the daemon, and what its journal has of the pod. */
interface Answer {
  readonly explanation: Explanation;
  readonly history: readonly JournalRecord[];
}

/** `cpusetd explain`: explains the CPUs of a pod, or checks that a number of CPUs would fit, with exit 1 when not. */
export function addExplainCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('explain')
    .description(
      'show why a pod has its CPUs or was refused, or whether a number of CPUs would fit now, and where (exit 1 when not)',
    )
    .argument('[pod]', 'namespace/name, name, or uid')
    .argument('[container]', 'only this one of the pod')
    .option('--cpus <n>', 'would a new container of n CPUs fit? A number, not an id; nothing is given out')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(createAdminSocketOption())
    .addOption(createStateDirOption('where the journal is, which has what happened before'))
    .action(async (pod: string | undefined, container: string | undefined, options: ExplainOptions) => {
      const { cpus, output, adminSocket, stateDir } = options;
      const query = parseTarget({
        ...(pod !== undefined && { pod }),
        ...(container !== undefined && { container }),
        ...(cpus !== undefined && { cpus }),
      });
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        const { explanation, history } = await ask(client, query, join(stateDir, 'journal'), context);
        if (output === 'table') {
          const { topology } = await client.topology();
          const { formatExplanation } = await import('../explain/format-explanation');
          const { formatHistory } = await import('../explain/format-history');
          const count = query.kind === 'cpus' ? query.count : 0;
          const terminal = terminalOf(context);
          const shown = [
            formatExplanation(explanation, topology, count, terminal),
            formatHistory(explanation, history, topology, terminal),
          ];
          await write(context.stdout, shown.filter((text) => text !== '').join('\n'));
        } else {
          const { kind, ...data } = explanation;
          await write(context.stdout, await formatData(kind === 'what-if' ? data : { ...data, history }, output));
        }
        exit(explanation.kind === 'what-if' && !explanation.fits ? 1 : 0);
      } finally {
        client.close();
      }
    });
}

/**
 * A pod that the daemon does not know is explained by the journal alone. Throws the daemon's error when that has
 * nothing either.
 */
async function ask(
  client: AdminClient,
  query: ExplainQuery,
  journal: string,
  { stderr, signal }: Pick<CliContext, 'stderr' | 'signal'>,
): Promise<Answer> {
  if (query.kind === 'cpus') return { explanation: await client.explain(query), history: [] };
  const { addSteps, readHistory } = await import('../explain/history');
  const read = (): Promise<readonly JournalRecord[]> =>
    readHistory(journal, query, signal).catch((error: unknown) => {
      if (!(error instanceof JournalError)) throw error;
      complain(stderr, `there is no history in this answer: ${error.message}`);
      return [];
    });
  try {
    const explanation = await client.explain(query);
    const history = await read();
    return { explanation: addSteps(explanation, history), history };
  } catch (error) {
    if (!(error instanceof CpusetdError) || error.code !== 'NOT_FOUND') throw error;
    const history = await read();
    if (history.length === 0) throw error;
    return { explanation: { kind: 'containers', containers: [], idle: [], refused: [], others: [] }, history };
  }
}

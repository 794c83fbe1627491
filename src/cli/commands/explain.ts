import { Option, type Command } from 'commander';

import { createAdminSocketOption } from '../options/admin-socket';
import { write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { parseTarget } from '../explain/parse-target';

interface ExplainOptions {
  readonly cpus?: string;
  readonly output: 'table' | DataFormat;
  readonly adminSocket: string;
}

/** `cpusetd explain`: explains the CPUs of a pod, or checks that a number of CPUs would fit, with exit 1 when not. */
export function addExplainCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('explain')
    .description(
      'tell why a pod has its CPUs or was refused, or whether so many CPUs would fit now, and where (exit 1 when not)',
    )
    .argument('[pod]', 'namespace/name, name, or uid')
    .argument('[container]', 'only this one of the pod')
    .option('--cpus <n>', 'a new container of so many CPUs, instead of a pod; nothing is given out')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(createAdminSocketOption())
    .action(async (pod: string | undefined, container: string | undefined, options: ExplainOptions) => {
      const { cpus, output, adminSocket } = options;
      const query = parseTarget({
        ...(pod !== undefined && { pod }),
        ...(container !== undefined && { container }),
        ...(cpus !== undefined && { cpus }),
      });
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        const explanation = await client.explain(query);
        if (output === 'table') {
          const { topology } = await client.topology();
          const { formatExplanation } = await import('../explain/format-explanation');
          await write(
            context.stdout,
            formatExplanation(explanation, topology, query.kind === 'cpus' ? query.count : 0),
          );
        } else {
          const { kind: _kind, ...data } = explanation;
          await write(context.stdout, await formatData(data, output));
        }
        exit(explanation.kind === 'what-if' && !explanation.fits ? 1 : 0);
      } finally {
        client.close();
      }
    });
}

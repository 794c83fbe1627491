import { Option, type Command } from 'commander';

import { complain, write, type CliContext, type ExitStatus } from '../context';

/** `cpusetd policy check FILE`: checks whether a policy file of annotator and extender is right, and what it means. */
export function addPolicyCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const policy = program
    .command('policy')
    .description('check the policy file of cpusetd annotator and cpusetd extender')
    .helpCommand(false);
  policy
    .command('check')
    .description('exit 0 when the file can be used, 1 and each problem with its line when not')
    .argument('<file>', 'the policy file of crane-scheduler, YAML or JSON')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .action(async (file: string, { output }: { readonly output: 'table' | 'json' | 'yaml' }) => {
      const { readPolicyFile } = await import('../../scheduling/policy/read-policy-file');
      const read = await readPolicyFile(file);
      if (!read.ok) {
        complain(context.stderr, ...read.problems);
        exit(1);
        return;
      }
      const { formatPolicy } = await import('../policy/format-policy');
      await write(context.stdout, await formatPolicy(read.policy, output));
      for (const remark of read.remarks) complain(context.stderr, remark);
    });
}
